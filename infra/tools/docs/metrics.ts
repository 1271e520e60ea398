/**
 * METRICS.md: the table of metrics, and what a table cannot say.
 * Owns: the text. Does not own: the metrics (shared/metrics/families.ts). Nothing that runs imports this.
 */
import { counterKey } from "../../../shared/policy/counters.ts";
import { COUNTERS_CONFIG_MAP, LIFEBOAT_NAMESPACE } from "../../../shared/policy/names.ts";
import { END_PHASES } from "../../../shared/policy/evacuation/phase.ts";
import { PHASE_WORDS, renderTable } from "./policy/tables.ts";
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

## Where the counters are

Functions share no memory, and none of them lasts. So the counters are in the cluster: ConfigMap
\`${LIFEBOAT_NAMESPACE}/${COUNTERS_CONFIG_MAP}\`, one key for each cause and outcome, such as \`${counterKey("ApiEviction", "Moved")}\`, and one for each profile, plugin and
result of descheduling, such as \`descheduling.vms.LowNodeUtilization.Background\`. The gauges are counted at the
moment of the scrape, from the Evacuations that have not ended.

- **At most once:** the function that writes the final phase of an Evacuation counts it, after that write. Two functions cannot both
  write it. A function that dies between the two writes costs one count, and so does an API server that refuses the second one (an error in the
  log says so); no evacuation waits for its count.
- **Late:** an evacuation is counted when a function notices its end: usually within a second, at the latest at the next cron tick.
- **Exact figures** of the last hour are the Evacuations themselves: \`kubectl get evacuations -A\`.
- **Reset:** delete the ConfigMap; the next evacuation that ends makes a new one.
- **Descheduling** counts its requests at the end of each cycle: one that dies costs the counts of that cycle. In a profile's name other
  characters than letters, digits and \`-\` are counted as \`_\`.
- **Blocked:** \`External\` waits for the VM's owner; \`Other\` is a reason of KubeVirt's that this version does not know. Which VMs, and why in words:
  \`kubectl get evacuations -A -o wide\`. A VM that cannot migrate when it is asked to leave has no Evacuation: its eviction is refused, and
  counted in \`${FAMILIES.refusals.name}${SUFFIX.counter}\`. The Event \`EvictionRefused\` names it.
- \`${FAMILIES.podEvacuations.name}\` and \`${FAMILIES.podEvacuationsInProgress.name}\` are absent without the gate \`EvictionsInBackground\`.
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
