/** METRICS.md: the table of metrics, and what a table cannot say. Nothing that runs imports this. */
import { END_PHASES } from "../../../shared/policy/evacuation/phase.ts";
import { PHASE_WORDS, renderTable } from "./policy/tables.ts";
import { REVIEW_FAMILY } from "../../../functions/review-counts.ts";
import { FAMILIES, LABEL_VALUES } from "../../../shared/metrics/families.ts";
import { OPEN_METRICS, SUFFIX } from "../../../shared/metrics/open-metrics.ts";

export function renderMetricsDocument(): string {
  return `<!-- Rendered from the code of this folder. To update: npx vitest run test/metrics -u -->

# Metrics

\`GET /clusters/{cluster}/metrics\`, with the cluster's \`operatorToken\` as bearer, answers with [OpenMetrics 1.0](https://prometheus.io/docs/specs/om/open_metrics_spec/)
text, \`${OPEN_METRICS}\`.

${familyTable()}

${labelTable()}

No label takes a value that a tenant chooses, and none that has no bound: no namespace, no VM, no node.

## How evacuations end

The outcome is the phase that the Evacuation ends with.

${renderTable([["outcome", "means"], ...END_PHASES.map((phase) => [phase, PHASE_WORDS[phase]])])}

## What the figures are of

Functions share no memory, and none of them lasts. So the figures are gauges: counted at the moment of the scrape, from the objects of the cluster.

- **Ended in the last hour** are Evacuations with a \`completionTime\` within the last 3600 s. With a smaller \`evacuation.historySeconds\` they cover less
  time, and an Evacuation that was deleted is missing. \`kubectl get evacuations -A\` shows the same.
- **Undecided**: an eviction that Lifeboat answered without the facts sets the condition \`ReviewsDecided\` of the LifeboatConfiguration to False. A full
  scan sets it to True again, ten minutes later. It does not show evictions that never came, those during which the API server did not answer, and
  anything in a cluster without a LifeboatConfiguration: the log has those.
- **Reviews**: in the cluster, each replica also tells \`${REVIEW_FAMILY.name}_total\` since its start, by \`review\` and \`answer\`. A Worker has no
  such counter; its log has one line for each review.
- **Blocked:** \`External\` waits for the VM's owner; \`Other\` is a reason of KubeVirt's that this version does not know. Which VMs, and why in words:
  \`kubectl get evacuations -A -o wide\`. A VM that cannot migrate when it is asked to leave has no Evacuation: its eviction is refused. The Event \`EvictionRefused\` names it.
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
