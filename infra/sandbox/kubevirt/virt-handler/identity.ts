/** The identity of virt-handler on a node: its account, with a token that is bound to the node. */
import type { KubeClient } from "../../actors/client.ts";
import { USERS } from "../../identities.ts";

const NODE_NAME = "authentication.kubernetes.io/node-name";

export function asHandlerOn(client: KubeClient, node = ""): KubeClient {
  // A service account belongs to its groups without naming them.
  return client.as(USERS.virtHandler.user, [], { [NODE_NAME]: node });
}
