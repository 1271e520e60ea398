/** What `kubectl get evacuations --all-namespaces` shows, for where no kubectl is. */
import type { Evacuation } from "../stage/evacuations.ts";
import { aligned } from "../../tools/console/table.ts";
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
  const table = aligned([COLUMNS.map(([heading]) => heading), ...rows], { gap: "   " });
  const [headings = "", ...lines] = table.map((line) => cut(line, look.width));
  return [COMMAND, painter(look)("bold", headings), ...lines];
}
