/** Renders the tables of METRICS.md. */
import type { HoldVerdict } from "../../../shared/settings/holds.ts";
import { renderTable } from "./policy/tables.ts";
import { SUFFIX } from "../../../shared/metrics/open-metrics.ts";
import { WEBHOOK_ENDPOINTS } from "../../../shared/settings/webhooks.ts";
import { FAMILIES } from "../../../shared/metrics/metrics.ts";

export const LABEL_VALUES: Readonly<
  Record<(typeof FAMILIES)[keyof typeof FAMILIES]["labels"][number], string | readonly string[]>
> = {
  version: "the version of Lifeboat",
  webhook: WEBHOOK_ENDPOINTS,
  cause: "`spec.cause` of an Evacuation",
  outcome: "final `status.phase` of an Evacuation",
  reason: "`External`, another reason of Lifeboat, or the reason of KubeVirt's condition `LiveMigratable`",
  guard_problem: [
    "PolicyWithoutGate",
    "PolicyMissing",
    "HandlerEndsWithTaint",
  ] satisfies readonly HoldVerdict["reason"][],
  phase: "`status.phase` of an Evacuation that has not ended",
  node_phase: "`status.phase` of a NodeEvacuation that has not ended",
  rolling_phase: "`status.phase` of a RollingMaintenance that has not ended",
  result: "final `status.phase` of a NodeEvacuation or RollingMaintenance",
  object: "`nodeevacuation/NAME` or `rollingmaintenance/NAME`",
  node_name: "the node of a NodeEvacuation; empty for a RollingMaintenance",
};

/** The tables of METRICS.md, keyed by the name in the marker (`<!-- table: NAME -->`). */
export const METRICS_TABLES: Readonly<Record<string, () => string>> = { families: familyTable, labels: labelTable };

function familyTable(): string {
  const rows = Object.values(FAMILIES).map(({ name, type, labels, help }) => {
    const listed = labels.map((label) => `\`${label}\``).join(", ");
    return [`\`${name}${SUFFIX[type]}\``, type, listed === "" ? "–" : listed, help];
  });
  return renderTable([["sample", "type", "labels", "meaning"], ...rows]);
}

function labelTable(): string {
  const rows = Object.entries(LABEL_VALUES).map(([label, values]) => {
    return [`\`${label}\``, typeof values === "string" ? values : values.map((value) => `\`${value}\``).join(", ")];
  });
  return renderTable([["label", "values"], ...rows]);
}
