/** The state of a cluster in a word, of a fleet in a sentence. */
import type { Glance, Summary } from "../glance.ts";
import type { Mood } from "./components.ts";

export interface State {
  readonly mood: Mood;
  readonly word: string;
}

const COUNT_NEEDY = ["Blocked", "WaitingForOwner"] as const;

/** How many evacuations of the cluster cannot go on without a person. */
export function needyOf({ phases }: Pick<Summary, "phases">): number {
  return COUNT_NEEDY.reduce((sum, phase) => sum + (phases.get(phase) ?? 0), 0);
}

export function underWayOf({ phases }: Pick<Summary, "phases">): number {
  return [...phases.values()].reduce((sum, count) => sum + count, 0);
}

export function stateOf(glance: Glance): State {
  switch (glance.result) {
    case "Unreachable":
      return { mood: "bad", word: "Cannot be reached" };
    case "NotAsked":
      return { mood: "quiet", word: "Not asked yet" };
    case "Reached":
      return stateOfReached(glance.summary);
  }
}

function stateOfReached(summary: Summary): State {
  if (hasProblem(summary)) return { mood: "bad", word: "Lifeboat has a problem" };
  if (needyOf(summary) > 0) return { mood: "bad", word: "Needs a person" };
  if ((summary.phases.get("BackingOff") ?? 0) > 0) return { mood: "warn", word: "Tries again" };
  if (underWayOf(summary) > 0) return { mood: "busy", word: "VMs are moving" };
  return { mood: "good", word: "Nothing to do" };
}

const ORDER: readonly Mood[] = ["bad", "warn", "busy", "quiet", "good"];

/** Those that need a person first; of the same state, by name. */
export function inOrder(glances: ReadonlyMap<string, Glance>): readonly (readonly [name: string, glance: Glance])[] {
  return [...glances].toSorted(([a, x], [b, y]) => rank(x) - rank(y) || (a < b ? -1 : 1));
}

function rank(glance: Glance): number {
  return ORDER.indexOf(stateOf(glance).mood);
}

/** What to know of all of them, in one line. */
export function fleetVerdict(glances: ReadonlyMap<string, Glance>): string {
  const all = [...glances.values()];
  const summaries = all.flatMap((glance) => (glance.result === "Reached" ? [glance.summary] : []));
  const unreachable = all.filter(({ result }) => result === "Unreachable").length;
  const troubled = summaries.filter(hasProblem).length;
  const needy = summaries.reduce((sum, summary) => sum + needyOf(summary), 0);
  const moving = summaries.reduce((sum, summary) => sum + underWayOf(summary), 0) - needy;
  const said = [
    ...(unreachable > 0 ? [`${counted(unreachable, "cluster")} cannot be reached`] : []),
    ...(troubled > 0 ? [`Lifeboat has a problem in ${counted(troubled, "cluster")}`] : []),
    ...(needy > 0 ? [`${counted(needy, "VM")} ${needy === 1 ? "waits" : "wait"} for a person`] : []),
    ...(moving > 0 ? [`${counted(moving, "VM")} ${moving === 1 ? "is" : "are"} leaving`] : []),
  ];
  return said.length === 0 ? "No VM has to leave its node." : `${said.join(", ")}.`;
}

function hasProblem({ problems }: Summary): boolean {
  return problems.some(({ mood }) => mood === "bad");
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
