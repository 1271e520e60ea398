/** What Lifeboat's full scans have written about themselves into the LifeboatConfiguration, and how long ago that became so. */
import type { Condition } from "../../../shared/policy/configuration-status.ts";
import type { ConfigurationFacts } from "../../../shared/cluster/kinds/lifeboat.ts";
import { durationText } from "../../../shared/policy/duration-text.ts";
import { failed, type Finding, ok, warning } from "./check.ts";
import type { Facts } from "./facts.ts";
import { isInCluster, LOGS } from "./form.ts";

const FIXES = {
  Ready: "kubectl edit lifeboatconfiguration lifeboat",
  Permitted: "kubectl apply -f infra/kubernetes/rbac.yaml",
  WebhookCalled: "kubectl describe lifeboatconfiguration lifeboat",
  CredentialsValid: "lifeboat rotate",
  ReviewsDecided: "kubectl apply -f infra/kubernetes/rbac.yaml",
} as const satisfies Record<Condition["type"], string>;

const RECONCILE = 'curl -X POST -H "Authorization: Bearer $WEBHOOK_TOKEN" $LIFEBOAT/clusters/CLUSTER/reconcile';

export function judgeCondition(
  type: Condition["type"],
  found: ConfigurationFacts,
  facts: Pick<Facts, "now" | "inside">,
): Finding {
  const condition = found.conditions.find((one) => one.type === type);
  if (condition === undefined) {
    const reason = "no full scan has reported yet: they run every ten minutes";
    const [where, fix] = isInCluster(facts) ? ["", LOGS] : [" where the Worker's schedule does", RECONCILE];
    return warning(`condition ${type} is missing`, `${reason}${where}`, fix);
  }
  const { status, reason, message, lastTransitionTime, observedGeneration } = condition;
  const age = durationText((facts.now.getTime() - Date.parse(lastTransitionTime)) / 1000);
  const fix = type === "CredentialsValid" && isInCluster(facts) ? LOGS : FIXES[type];
  const said = `condition ${type} is ${status} (${reason}) for ${age}`;
  if (status === "False") return failed(said, message, fix);
  if (observedGeneration < found.generation) {
    return warning(said, "it is about the configuration before its last change: the next full scan updates it");
  }
  const isDoubtful = status !== "True" || reason === "ExpiresSoon";
  return isDoubtful ? warning(said, message, fix) : ok(said);
}
