/** METRICS.md: the table of metrics, and what a table cannot say. Nothing that runs imports this. */
import { renderTable } from "./policy/tables.ts";
import { REVIEW_FAMILY } from "../../../functions/review.ts";
import { FAMILIES } from "../../../shared/metrics/families.ts";
import { OPEN_METRICS, SUFFIX } from "../../../shared/metrics/open-metrics.ts";
import { ACTIVE_PHASES, CAUSES, END_PHASES } from "../../../shared/kube/evacuation.ts";
import { WEBHOOK_ENDPOINTS } from "../../../shared/settings/webhooks.ts";

/** Where the values of a label come from; a list is complete. */
export const LABEL_VALUES: Readonly<
  Record<(typeof FAMILIES)[keyof typeof FAMILIES]["labels"][number], string | readonly string[]>
> = {
  version: "of Lifeboat",
  webhook: WEBHOOK_ENDPOINTS,
  cause: CAUSES,
  outcome: END_PHASES,
  reason: "`External`, one of Lifeboat's own, or the reason of KubeVirt's condition `LiveMigratable`",
  phase: ACTIVE_PHASES,
};

export function renderMetricsDocument(): string {
  return `<!-- Rendered from the code of this folder. To update: npx vitest run test/metrics -u -->

# Metrics

\`GET /clusters/{cluster}/metrics\`, with the cluster's \`operatorToken\` as bearer, answers with [OpenMetrics 1.0](https://prometheus.io/docs/specs/om/open_metrics_spec/)
text, \`${OPEN_METRICS}\`.

${familyTable()}

${labelTable()}

No label takes a value that a tenant chooses, and none that has no bound: no namespace, no VM, no node.

## What the figures are of

Functions share no memory. So the figures are gauges: counted at the moment of the scrape, from the objects of the cluster.

- **Ended in the last hour** are Evacuations with a \`completionTime\` within the last 3600 s. A smaller \`evacuation.historySeconds\` covers less time, and
  a deleted Evacuation is missing. The outcome is the phase that it ended with: \`kubectl explain evacuation.status.phase\`.
- **Undecided**: an eviction answered without the facts sets the condition \`ReviewsDecided\` of the LifeboatConfiguration to False. A full scan sets it
  back ten minutes later. Evictions that never came, and those during which the API server did not answer, are missing. Without a
  LifeboatConfiguration only the log has them.
- **Reviews**: in the cluster each replica also counts \`${REVIEW_FAMILY.name}_total\`, by \`review\` and \`answer\`. A Worker logs one line for each review.
- **Blocked**: \`External\` waits for the VM's external controller. A refused eviction of a VM that cannot migrate makes no Evacuation, only the
  Event \`EvictionRefused\`.
- \`${FAMILIES.podEvacuationsInProgress.name}\` is absent without the gate \`EvictionsInBackground\`.
`;
}

function familyTable(): string {
  const rows = Object.values(FAMILIES).map(({ name, type, unit, labels, help }) => {
    const listed = labels.map((label) => `\`${label}\``).join(", ");
    return [`\`${name}${SUFFIX[type]}\``, type, unit === "" ? "–" : unit, listed === "" ? "–" : listed, help];
  });
  return renderTable([["sample", "type", "unit", "labels", "means"], ...rows]);
}

function labelTable(): string {
  const rows = Object.entries(LABEL_VALUES).map(([label, values]) => {
    return [`\`${label}\``, typeof values === "string" ? values : values.map((value) => `\`${value}\``).join(", ")];
  });
  return renderTable([["label", "values"], ...rows]);
}
