/** Determines the nodes of a RollingMaintenance and the phase of each node. */
import type { NodeFacts } from "../../kube/facts.ts";
import { hasEnded, type NodeEvacuationFacts } from "../../kube/node-evacuation.ts";
import { derivedName, hash8, named } from "../../kube/objects.ts";
import {
  hasRollingEnded,
  type NodeRow,
  type RollingMaintenanceFacts,
  ROLLING_BOUNDS,
} from "../../kube/rolling-maintenance.ts";
import { secondsSince } from "../../settings/time.ts";
import { ROLLING_MESSAGES as MESSAGES } from "./messages.ts";
import { evacuationOf, isActiveRow, type RollingWorld } from "./world.ts";

type Seen = Omit<RollingWorld, "rows">;

/**
 * Returns the nodes in the order in which they are drained. Lifeboat evaluates the label selector only at the start. A
 * node that is added later does not belong to the RollingMaintenance.
 */
export function resolved({ rm, facts }: Seen): readonly string[] {
  const { names, matchLabels = {} } = rm.spec.nodes;
  if (names !== undefined) return names;
  const found = facts.list("nodes", { labels: matchLabels }).map(({ name }) => name);
  return found.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
}

export function rowsOf(w: Seen): readonly NodeRow[] {
  return w.rm.status.nodes.map((row) => rowNow(row, w));
}

function rowNow(row: NodeRow, w: Seen): NodeRow {
  const ne = evacuationOf(row, w);
  const counted =
    ne?.status.virtualMachines === undefined ? row : { ...row, virtualMachines: ne.status.virtualMachines };
  if (hasRollingEnded(w.rm)) return counted;
  if (isActiveRow(row)) return ne === undefined ? removed(row, w) : following(counted, ne);
  return row.phase === "Evacuated" && w.rm.spec.nextNode === "WhenUncordoned" ? returning(counted, w) : counted;
}

function removed(row: NodeRow, { now }: Seen): NodeRow {
  if (row.phase === "Starting") return row;
  const message = MESSAGES.nodeEvacuationDeleted(row.nodeEvacuation);
  return { ...row, phase: "Withdrawn", message, completionTime: now.toISOString() };
}

function following(row: NodeRow, { status }: NodeEvacuationFacts): NodeRow {
  const { phase = "Scheduled", message = "", completionTime } = status;
  return { ...row, phase, message: cut(message), ...(hasEnded({ status }) && { completionTime }) };
}

/**
 * A drained node can be deleted and installed again. Lifeboat waits at most `nodeTimeoutSeconds` until a deleted node
 * exists again.
 */
function returning(row: NodeRow, { rm, facts, now }: Seen): NodeRow {
  const node = facts.get("nodes", named(row.name));
  if (node === undefined) {
    const isOver = secondsSince(row.completionTime, now) >= rm.spec.nodeTimeoutSeconds;
    return isOver ? { ...row, phase: "Gone", message: MESSAGES.notBack } : row;
  }
  return isBack(node) ? { ...row, phase: "Returned", returnTime: now.toISOString() } : row;
}

/** Returns true if the node is schedulable and ready, and virt-handler runs on it. */
export function isBack({ unschedulable, ready, virtHandler }: NodeFacts): boolean {
  return !unschedulable && ready && virtHandler?.isSchedulable === true;
}

export function cut(message: string): string {
  return message.slice(0, ROLLING_BOUNDS["status.nodes[].message"]).toWellFormed();
}

/** Returns the name of the node's NodeEvacuation. Every process of Lifeboat derives the same name. */
export function evacuationName({ uid }: Pick<RollingMaintenanceFacts, "uid">, node: string): string {
  return derivedName("", node, hash8(`${uid}/${node}`));
}
