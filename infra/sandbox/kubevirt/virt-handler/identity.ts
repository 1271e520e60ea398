/** virt-handler's service account, with a token that is bound to the node. */
import type { KubeClient } from "../../actors/client.ts";
import { USERS } from "../../identities.ts";

const NODE_NAME = "authentication.kubernetes.io/node-name";

export function asHandlerOn(client: KubeClient, node = ""): KubeClient {
  // The API server adds the groups of an impersonated service account.
  return client.as(USERS.virtHandler.user, [], { [NODE_NAME]: node });
}
