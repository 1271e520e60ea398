/** All messages of RollingMaintenances, in their statuses and Events: what happened, why, and what to do. */
import type { NodeRow } from "../../kube/rolling-maintenance.ts";
import { durationText, withoutFractions } from "../../settings/time.ts";
import { MAINTENANCE_MESSAGES } from "../messages.ts";
import { nodeCountsOf } from "./world.ts";

const MOST_NAMES = 5;

type Rows = readonly NodeRow[];

function namesText(rows: Rows): string {
  const more = rows.length - MOST_NAMES;
  const names = rows.slice(0, MOST_NAMES).map(({ name }) => name);
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Lists the nodes that are being drained, with the status message of the first node. */
function waitsFor(active: Rows): string {
  const [first] = active;
  const said = first?.message === undefined || first.message === "" ? "" : `: ${first.message}`;
  return `waits for ${namesText(active)}${said}`;
}

function stuckText(rows: Rows): string {
  const said = rows.slice(0, MOST_NAMES).map(({ name, phase, message = "" }) => {
    return `${name} is ${phase}${message === "" ? "" : `: ${message}`}`;
  });
  const more = rows.length - MOST_NAMES;
  return `${said.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

function progressText(rows: Rows): string {
  const { total, evacuated, failed } = nodeCountsOf(rows);
  return `nodes evacuated: ${evacuated} of ${total}${failed === 0 ? "" : `, failed: ${failed}`}`;
}

const NOT_STARTED = (end: string, left: number) =>
  `nodes whose drain had not started at ${end} (spec.schedule.notAfter): ${left}`;
const FAILED = (failed: Rows) => `${stuckText(failed)}; spec.whenNodeFails is Stop`;

export const ROLLING_MESSAGES = {
  // Messages before the start
  startsAt: (time: string) => `starts at ${withoutFractions(time)}`,
  pausedBefore: "spec.progress is Paused: the maintenance starts only after it is resumed",
  tooLate: (end: string) => `the maintenance had not started at ${end} (spec.schedule.notAfter)`,
  noNodes: "no node has the labels of spec.nodes.matchLabels",
  tooManyNodes: (count: number, most: number) =>
    `${count} nodes have the labels of spec.nodes.matchLabels, and a RollingMaintenance can have at most ${most}: choose fewer nodes`,

  // Messages about the progress
  startsWith: (node = "") => `starts with ${node}`,
  startsWithAll: (rows: Rows) => `starts with ${namesText(rows)}`,
  waitsFor,
  waitsForService: (rows: Rows) =>
    `waits for ${namesText(rows)} to be schedulable and Ready again, with a working virt-handler: run kubectl uncordon ${rows[0]?.name} when its maintenance is done`,
  waitsForRival: (node: string | undefined, rival: string) => `node ${node} waits for ${rival}`,
  olderRolling: (name: string) => `RollingMaintenance ${name}, which also includes this node`,
  otherNodeEvacuation: (name: string) => `NodeEvacuation ${name} of the same node`,
  waitsForRollout: "the next node waits until KubeVirt's rollout has ended",
  paused: (rows: Rows) =>
    `spec.progress is Paused: nothing new starts, and running migrations continue; ${progressText(rows)}`,
  stuck: stuckText,
  lacksPermission: MAINTENANCE_MESSAGES.lacksPermission,
  requestFailed: "a request failed",
  notCreated: (what: string) => `Lifeboat could not create a NodeEvacuation (${what}), and tries again`,

  // Messages about a node
  nodeGone: "there is no such node",
  nextIsGone: (node: string) => `there is no node ${node}`,
  notBack: "it was deleted after its drain, and no node of this name has joined since",
  nodeEvacuationDeleted: (name = "") => `its NodeEvacuation ${name} was deleted`,
  nodeFailed: ({ name, phase, message = "" }: NodeRow) => `node ${name} is ${phase}: ${message}`,

  // Messages about the expected end
  pace: (seconds: number) => `a node took ${durationText(seconds)} on average`,
  lastEnds: (pace: string, end: string) => `${pace}; the last drain ends at about ${withoutFractions(end)}`,
  someLate: (pace: string, late: number, notAfter: string) =>
    `${pace}; nodes whose drain will not start by ${withoutFractions(notAfter)} (spec.schedule.notAfter): ${late}`,

  // Messages about the end
  withdrawn: "spec.intent is Withdrawn",
  withdrawnWaits: (active: Rows) => `spec.intent is Withdrawn; ${waitsFor(active)}`,
  failedWaits: (failed: Rows, active: Rows) => `${FAILED(failed)}: no further drain starts; ${waitsFor(active)}`,
  failed: (failed: Rows, left: number) =>
    `${FAILED(failed)}${left === 0 ? "" : `: nodes that were not drained: ${left}`}`,
  outOfTimeWaits: (end: string, left: number, active: Rows) => `${NOT_STARTED(end, left)}; ${waitsFor(active)}`,
  outOfTime: (end: string, left: number, rows: Rows) => `${NOT_STARTED(end, left)}; ${progressText(rows)}`,
  completed: (rows: Rows, failed: Rows) =>
    `${progressText(rows)}${failed.length === 0 ? "" : `; ${stuckText(failed)}`}`,
} as const;
