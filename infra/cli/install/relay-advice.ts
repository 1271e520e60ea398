/**
 * Advises to install the relay. Without the relay, a Worker notices node pressure too late, and misses deletions for
 * which the API server does not call Lifeboat.
 */
import { LIFEBOAT_NAMESPACE } from "../../../shared/kube/names.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import { RELAY_INSTALL } from "../doctor/permissions.ts";
import type { Part } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import type { Home } from "./plan.ts";

const RELAY = `/apis/apps/v1/namespaces/${LIFEBOAT_NAMESPACE}/deployments/lifeboat-relay`;

interface Installed {
  readonly parts: readonly Part[];
  readonly home: Home;
}

/**
 * Returns the advice, or an empty string if the relay is installed or not needed. In the cluster, Lifeboat needs no
 * relay.
 */
export async function relayAdvice({ parts, home }: Installed, send: Send): Promise<string> {
  const reasons = parts.flatMap(({ withoutRelay }) => withoutRelay ?? []);
  if (home.in === "Cluster" || reasons.length === 0) return "";
  const { code } = await send({ method: "GET", path: RELAY, expect: [403, 404] });
  return code === 404 ? MESSAGES.noRelay(reasons, RELAY_INSTALL) : "";
}
