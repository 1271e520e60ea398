/** What Lifeboat's full scans have written about themselves into the LifeboatConfiguration, and how long ago that became so. */
import type { Condition } from "../../../shared/policy/configuration-status.ts";
import type { ConfigurationFacts } from "../../../shared/cluster/kinds/lifeboat.ts";
import { durationText } from "../../../shared/policy/duration-text.ts";
import { failed, type Finding, ok, warning } from "./check.ts";

const FIXES = {
  Ready: "kubectl edit lifeboatconfiguration lifeboat",
  Permitted: "kubectl apply -f infra/kubernetes/rbac.yaml",
  WebhookCalled: "kubectl describe lifeboatconfiguration lifeboat",
  CredentialsValid: 'infra/kubernetes/README.md, "Rotate"',
} as const satisfies Record<Condition["type"], string>;

export function judgeCondition(type: Condition["type"], found: ConfigurationFacts, now: Date): Finding {
  const condition = found.conditions.find((one) => one.type === type);
  if (condition === undefined) {
    const reason = "no full scan has reported yet: they run every ten minutes where the Worker's schedule does";
    return warning(`condition ${type} is missing`, reason, "curl -X POST $LIFEBOAT/clusters/CLUSTER/reconcile");
  }
  const { status, reason, message, lastTransitionTime, observedGeneration } = condition;
  const age = durationText((now.getTime() - Date.parse(lastTransitionTime)) / 1000);
  const said = `condition ${type} is ${status} (${reason}) for ${age}`;
  if (status === "False") return failed(said, message, FIXES[type]);
  if (observedGeneration < found.generation) {
    return warning(said, "it is about the configuration before its last change: the next full scan updates it");
  }
  const isDoubtful = status !== "True" || reason === "ExpiresSoon";
  return isDoubtful ? warning(said, message, FIXES[type]) : ok(said);
}
