/** Reads a cluster's descheduler policy, anew for every cycle. */
import type { Cluster } from "../../cluster/cluster.ts";
import type { ConfigMapFacts } from "../../cluster/kinds/kubernetes.ts";
import type { DeschedulerPolicy } from "../cycle/policy.ts";
import { DESCHEDULER_CONFIG_MAP, DESCHEDULER_KEY } from "../../policy/names.ts";
import { parseDeschedulerPolicy } from "./parse-descheduler-policy.ts";
import type { ConfigProblem } from "../../config/problem.ts";

export type LoadedPolicy =
  | { readonly ok: true; readonly policy: DeschedulerPolicy }
  /** No pod may be evicted by a policy that is only partly understood. */
  | { readonly ok: false; readonly problems: readonly ConfigProblem[]; readonly configMap?: ConfigMapFacts };

export async function loadDeschedulerPolicy(cluster: Cluster): Promise<LoadedPolicy> {
  const configMap = await cluster.getConfigMap(DESCHEDULER_CONFIG_MAP);
  if (configMap === undefined) {
    const message = "expected this ConfigMap in namespace lifeboat-system";
    return { ok: false, problems: [{ field: `ConfigMap ${DESCHEDULER_CONFIG_MAP}`, message }] };
  }
  const text = configMap.data[DESCHEDULER_KEY];
  if (text === undefined) {
    const message = `expected this key in ConfigMap ${DESCHEDULER_CONFIG_MAP}`;
    return { ok: false, problems: [{ field: DESCHEDULER_KEY, message }], configMap };
  }
  const parsed = await parseDeschedulerPolicy(text);
  return parsed.ok ? { ok: true, policy: parsed.value } : { ok: false, problems: parsed.problems, configMap };
}
