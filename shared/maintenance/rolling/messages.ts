/** Messages of a RollingMaintenance. */
import type { NodeRow } from "../../kube/rolling-maintenance.ts";
import { isActiveRow, isFailedRow, isPendingRow } from "./world.ts";

const MOST_NAMES = 5;

export function namesText(rows: readonly NodeRow[]): string {
  const more = rows.length - MOST_NAMES;
  const names = rows.slice(0, MOST_NAMES).map(({ name }) => name);
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Names nodes that are being drained, with the message of the first. */
export function waitsFor(active: readonly NodeRow[]): string {
  const [first] = active;
  const said = first?.message === undefined || first.message === "" ? "" : `: ${first.message}`;
  return `waits for ${namesText(active)}${said}`;
}

/** Names nodes that are drained and not in service again. */
export function inService(rows: readonly NodeRow[]): string {
  const [first] = rows;
  return `waits until ${namesText(rows)} is schedulable and Ready again: kubectl uncordon ${first?.name} when its maintenance is done`;
}

/** Says for each node how it ended or what blocks it. */
export function stuckText(rows: readonly NodeRow[]): string {
  const said = rows.slice(0, MOST_NAMES).map(({ name, phase, message = "" }) => {
    return `${name} is ${phase}${message === "" ? "" : `: ${message}`}`;
  });
  const more = rows.length - MOST_NAMES;
  return `${said.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

export function progressText(rows: readonly NodeRow[]): string {
  const { total, evacuated, failed } = nodeCountsOf(rows);
  return `nodes evacuated: ${evacuated} of ${total}${failed === 0 ? "" : `, failed: ${failed}`}`;
}

export function nodeCountsOf(rows: readonly NodeRow[]) {
  const count = (is: (row: NodeRow) => boolean) => rows.filter(is).length;
  return {
    total: rows.length,
    pending: count(isPendingRow),
    active: count(isActiveRow),
    evacuated: count(({ phase }) => phase === "Evacuated" || phase === "Returned"),
    failed: count(isFailedRow),
  };
}
