/** What is true of a node, in sentences. */
import type { Blocker, NodeProgress, NodeState } from "../../../shared/policy/preflight/progress.ts";
import type { NodeVerdict } from "../../../shared/policy/preflight/facts.ts";
import { counted } from "./fleet-words.ts";
import type { Mood } from "./components.ts";

/** In a word; a drain that does not end by itself looks like none that does. */
export function stateOf({ state }: NodeProgress, blockers: readonly Blocker[]): readonly [word: string, mood: Mood] {
  const { vms, pods } = stuckOf(blockers);
  return state === "Emptying" && vms + pods > 0 ? ["Being emptied, blocked", "bad"] : STATE[state];
}

const STATE: Readonly<Record<NodeState, readonly [word: string, mood: Mood]>> = {
  Emptying: ["Being emptied", "busy"],
  Emptied: ["Empty of VMs", "good"],
  Cordoned: ["Cordoned", "warn"],
  InUse: ["In use", "quiet"],
};

export const VERDICT: Readonly<Record<NodeVerdict, readonly [word: string, mood: Mood]>> = {
  WillSucceed: ["A drain will succeed", "good"],
  WillSucceedWithShutdowns: ["A drain will succeed, with shutdowns", "warn"],
  Unknown: ["Not certain", "warn"],
  NoRoom: ["Not enough room", "bad"],
  WillBlock: ["A drain will block", "bad"],
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
  const going = [saidOf(count("moving"), "is moving", "are moving"), saidOf(count("waiting"), "waits", "wait")];
  const said = going.flat().join(", ");
  return `${said === "" ? "" : `${said}. `}${stuckWords(stuckOf(blockers))}`;
}

function saidOf(count: number, one: string, several: string): readonly string[] {
  return count === 0 ? [] : [`${count} ${count === 1 ? one : several}`];
}

function stuckWords({ vms, pods }: Stuck): string {
  if (vms + pods === 0) return "Nothing blocks.";
  return [
    ...saidOf(vms, "cannot leave by itself.", "cannot leave by themselves."),
    ...saidOf(pods, "other pod blocks the drain.", "other pods block the drain."),
  ].join(" ");
}

interface Stuck {
  readonly vms: number;
  readonly pods: number;
}

function stuckOf(blockers: readonly Blocker[]): Stuck {
  const blocking = blockers.filter(({ kind }) => kind === "Blocked" || kind === "NoRoom");
  const held = blocking.flatMap((one) => one.held.map(({ subject }) => subject));
  const vms = held.filter(({ verdict }) => verdict.vmi !== undefined);
  // A VM that is being moved has two pods.
  return { vms: new Set(vms.map(({ key }) => key)).size, pods: held.length - vms.length };
}
