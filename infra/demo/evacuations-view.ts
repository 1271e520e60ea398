/**
 * What `kubectl get evacuations --all-namespaces` shows, for where no kubectl is.
 * Owns: the columns. Pure. Does not own: the kind's own printer columns (infra/kubernetes/crds).
 */
import type { Evacuation } from "../tools/evacuations.ts";
import { cut, painter, type Look } from "./look.ts";

type Column = readonly [heading: string, cell: (evacuation: Evacuation) => string | number | undefined];

const COLUMNS: readonly Column[] = [
  ["NAMESPACE", ({ metadata }) => metadata.namespace],
  ["VM", ({ spec }) => spec.virtualMachineInstance.name],
  ["FROM", ({ status }) => status?.sourceNode],
  ["TO", ({ status }) => status?.targetNode],
  ["CAUSE", ({ spec }) => spec.cause],
  ["PHASE", ({ status }) => status?.phase],
  ["ATTEMPTS", ({ status }) => status?.attempts],
];

const COMMAND = "$ kubectl get evacuations --all-namespaces";

/** In the order of their namespaces and names. */
export function renderEvacuations(found: readonly Evacuation[], look: Look): readonly string[] {
  const rows = found
    .map((evacuation) => COLUMNS.map(([, cell]) => String(cell(evacuation) ?? "")))
    .toSorted((a, b) => a.join(" ").localeCompare(b.join(" ")));
  const widths = COLUMNS.map(([heading], index) =>
    Math.max(heading.length, ...rows.map((row) => row[index]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cut(cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("   "), look.width);
  const [headings, ...lines] = [COLUMNS.map(([heading]) => heading), ...rows].map(line);
  return [COMMAND, painter(look)("bold", headings ?? ""), ...lines];
}
