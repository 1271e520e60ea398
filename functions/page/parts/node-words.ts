/**
 * What is true of a node, in sentences.
 * Owns: these words. Does not own: how far it is (shared/policy/progress).
 */
import type { Blocker } from "../../../shared/policy/progress/blockers.ts";
import type { NodeProgress, NodeState } from "../../../shared/policy/progress/node-progress.ts";
import type { NodeVerdict } from "../../../shared/policy/preflight/result.ts";
import { counted } from "./fleet-words.ts";
import type { Mood } from "./phase.ts";

/** In a word; a drain that does not end by itself looks like none that does. */
export function stateOf({ state }: NodeProgress, blockers: readonly Blocker[]): readonly [word: string, mood: Mood] {
  return state === "Emptying" && stuckOf(blockers) > 0 ? ["Being emptied, blocked", "bad"] : STATE[state];
}

const STATE: Readonly<Record<NodeState, readonly [word: string, mood: Mood]>> = {
  Emptying: ["Being emptied", "busy"],
  Emptied: ["Empty of VMs", "good"],
  Cordoned: ["Cordoned", "warn"],
  InUse: ["In use", "quiet"],
};

export const VERDICT: Readonly<Record<NodeVerdict, readonly [word: string, mood: Mood]>> = {
  Drains: ["A drain succeeds", "good"],
  DrainsWithShutdowns: ["A drain succeeds, with shutdowns", "warn"],
  Unknown: ["Not certain", "warn"],
  NoRoom: ["Not enough room", "bad"],
  Blocks: ["A drain does not end", "bad"],
};

/** One line: what is happening, and whether it ends by itself. */
export function leadOf(progress: NodeProgress, blockers: readonly Blocker[]): string {
  const { here, gone, pods } = progress;
  switch (progress.state) {
    case "Emptying":
      return `${gone.length} of ${counted(gone.length + here.length, "VM")} ${gone.length === 1 ? "has" : "have"} left this node. ${restOf(progress, blockers)}`;
    case "Emptied":
      return `No VM is left on this node${pods.length === 0 ? "" : `, but ${counted(pods.length, "other pod")}`}. The node takes no new pods.`;
    case "Cordoned":
      return `The node takes no new pods. Nothing asks its ${counted(here.length, "VM")} to leave yet.`;
    case "InUse":
      return here.length === 0
        ? "No VM runs on this node."
        : `${counted(here.length, "VM")} ${here.length === 1 ? "runs" : "run"} on this node. Nobody empties it.`;
  }
}

function restOf({ here }: NodeProgress, blockers: readonly Blocker[]): string {
  const count = (mood: string) => here.filter(({ row }) => row.mood === mood).length;
  const stuck = stuckOf(blockers);
  const [moving, waiting] = [count("moving"), count("waiting")];
  const said = [
    ...(moving > 0 ? [`${moving} ${moving === 1 ? "is" : "are"} moving`] : []),
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? "waits" : "wait"}`] : []),
  ].join(", ");
  const going = said === "" ? "" : `${said}. `;
  if (stuck === 0) return `${going}Nothing blocks.`;
  return `${going}${stuck} cannot leave by ${stuck === 1 ? "itself" : "themselves"}.`;
}

function stuckOf(blockers: readonly Blocker[]): number {
  return blockers.filter(({ kind }) => kind === "Blocked" || kind === "NoRoom").flatMap(({ held }) => held).length;
}
