/** Renders the metrics as tables for administrators. */
import type { HoldVerdict } from "../../../shared/settings/holds.ts";
import { renderTable } from "./policy/tables.ts";
import { SUFFIX } from "../../../shared/metrics/open-metrics.ts";
import { ACTIVE_PHASES, CAUSES, END_PHASES } from "../../../shared/kube/evacuation.ts";
import { NODE_ACTIVE_PHASES, NODE_END_PHASES } from "../../../shared/kube/node-evacuation.ts";
import { ROLLING_ACTIVE_PHASES, ROLLING_END_PHASES } from "../../../shared/kube/rolling-maintenance.ts";
import { WEBHOOK_ENDPOINTS } from "../../../shared/settings/webhooks.ts";
import { FAMILIES } from "../../../shared/metrics/metrics.ts";

/** The possible values of each label. */
export const LABEL_VALUES: Readonly<
  Record<(typeof FAMILIES)[keyof typeof FAMILIES]["labels"][number], string | readonly string[]>
> = {
  version: "of Lifeboat",
  webhook: WEBHOOK_ENDPOINTS,
  cause: CAUSES,
  outcome: END_PHASES,
  reason: "`External`, one of Lifeboat's own, or the reason of KubeVirt's condition `LiveMigratable`",
  guard_problem: [
    "PolicyWithoutGate",
    "PolicyMissing",
    "HandlerEndsWithTaint",
  ] satisfies readonly HoldVerdict["reason"][],
  phase: ACTIVE_PHASES,
  node_phase: NODE_ACTIVE_PHASES,
  rolling_phase: ROLLING_ACTIVE_PHASES,
  result: [...new Set([...NODE_END_PHASES, ...ROLLING_END_PHASES])].map((phase) => `\`${phase}\``).join(", "),
  object: "`nodeevacuation/NAME` or `rollingmaintenance/NAME`",
  node_name: "the node of a NodeEvacuation",
};

/** The tables of METRICS.md, by the names of their markers. */
export const METRICS_TABLES: Readonly<Record<string, () => string>> = { families: familyTable, labels: labelTable };

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
