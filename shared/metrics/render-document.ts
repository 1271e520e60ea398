/**
 * METRICS.md: the table of metrics, and what a table cannot say.
 * Owns: the text. Does not own: the metrics (families.ts). Nothing that runs imports this.
 */
import { COUNTERS_CONFIG_MAP, COUNTERS_KEY, EVACUATION_LABEL, LIFEBOAT_NAMESPACE } from "../policy/names.ts";
import type { EndedBy } from "../policy/record.ts";
import { MOST_UNCOUNTED } from "../policy/record.ts";
import { renderTable } from "../policy/render-tables.ts";
import { FAMILIES, LABEL_VALUES } from "./families.ts";
import { OPEN_METRICS, SUFFIX } from "./open-metrics.ts";

const OUTCOME_MEANING = {
  Moved: "the VM has left the node",
  Abandoned:
    "the last attempt allowed has failed; or the VM can no longer migrate, and its strategy lets it be shut down",
  Cancelled: "by an operator, or by whoever removed the mark",
  Withdrawn: "the drain taint went away, or the VM on the tainted node can no longer migrate",
} as const satisfies Record<EndedBy, string>;

export function renderMetricsDocument(): string {
  return `<!-- Rendered from the code of this folder. To update: npx vitest run test/metrics -u -->

# Metrics

\`GET /clusters/{cluster}/metrics\`, with the cluster's \`operatorToken\` as bearer, answers with [OpenMetrics 1.0](https://prometheus.io/docs/specs/om/open_metrics_spec/)
text, \`${OPEN_METRICS}\`.

${familyTable()}

${labelTable()}

No label takes a value that a tenant chooses, or of which there are any number: no namespace, no VM, no node.

## How evacuations end

${renderTable([["outcome", "means"], ...Object.entries(OUTCOME_MEANING)])}

## Where the counters are

Any number of functions answer for a cluster, none of them lasts, and none knows of the others. So the counters are in the cluster:
ConfigMap \`${LIFEBOAT_NAMESPACE}/${COUNTERS_CONFIG_MAP}\`, key \`${COUNTERS_KEY}\`: sums, and the ids (\`<UID of the VMI>/<id of the evacuation>\`) of what
was counted last. Both are written together, by compare-and-set; an evacuation that has ended keeps the label \`${EVACUATION_LABEL}\` on
its VMI until it is seen to be counted.

- **Exact:** every evacuation that has ended is counted once, as it ended, however many functions look after it and wherever one of
  them dies. The gauges are what is in the cluster at the moment of the scrape.
- **Late:** an evacuation is counted when somebody looks: usually within a second, at the latest at the next cron tick.
- **Not counted:** an evacuation whose VMI is deleted (its VM stopped, say) before anybody has seen the end of it; one whose end the API
  server refuses to have counted (an error in the log says so, and the evacuation ends all the same); of one VM, more than ${MOST_UNCOUNTED} evacuations that follow each other before
  anybody could count.
- **Off:** without the permission to read the ConfigMap, or where it holds anything else, nothing is counted and nothing waits for that.
  \`${FAMILIES.evacuations.name}\` is then absent, and a note of the cluster's \`/readyz\` says why.
- **Reset:** delete the ConfigMap; the next evacuation that ends makes a new one. Whoever may edit a VMI may edit what its
  evacuation says of itself, and so what is counted of it.
- \`${FAMILIES.podEvacuations.name}\` and \`${FAMILIES.podEvacuationsInProgress.name}\` are absent where Lifeboat does not deschedule.
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
