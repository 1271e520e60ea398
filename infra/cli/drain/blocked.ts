/** What is in the way of a drain until a person changes something. */
import { isInTheWay } from "../../../shared/policy/preflight/in-the-way.ts";
import { isBlocked, type Subject } from "../../../shared/policy/progress/subjects.ts";

/** Such a refusal ends by itself in most clusters: a replica becomes ready elsewhere, the VM's owner takes the VM up. */
const PATIENCE_MS: ReadonlyMap<string, number> = new Map([
  ["BudgetExhausted", 60_000],
  ["External", 60_000],
]);

export interface Blockers {
  /** Those that have been blocked for so long that nothing but a person will change it. */
  settled(subjects: readonly Subject[], now: Date): readonly Subject[];
  /** Those in trouble that have not been told of yet. */
  untold(subjects: readonly Subject[], now: Date): readonly Subject[];
}

/** `first`: what the preflight has told of already. */
export function createBlockers(first: readonly Subject[]): Blockers {
  const since = new Map<string, number>();
  const told = new Set(first.filter(({ verdict }) => isInTheWay(verdict)).map(nameOf));
  const isSettled = (subject: Subject, now: number): boolean => {
    const begun = since.get(nameOf(subject)) ?? now;
    since.set(nameOf(subject), begun);
    return now - begun >= (PATIENCE_MS.get(subject.verdict.reason) ?? 0);
  };
  const settled = (subjects: readonly Subject[], now: Date) => {
    const blocked = subjects.filter(isBlocked);
    const names = new Set(blocked.map(nameOf));
    for (const name of since.keys()) if (!names.has(name)) since.delete(name);
    return blocked.filter((subject) => isSettled(subject, now.getTime()));
  };
  return {
    settled,
    untold(subjects, now) {
      const stuck = subjects.filter(({ verdict }) => verdict.outcome === "Waits" && verdict.remedy !== undefined);
      const news = [...settled(subjects, now), ...stuck].filter((subject) => !told.has(nameOf(subject)));
      for (const subject of news) told.add(nameOf(subject));
      return news;
    },
  };
}

function nameOf({ pod, verdict: { reason } }: Subject): string {
  return `${pod.uid} ${reason}`;
}
