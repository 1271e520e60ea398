/** Evacuations for a preemption that the scheduler has given up: a new round has found other victims. */
import { isFinal } from "../facts.ts";
import { secondsSince } from "../time.ts";
import { podUIDOf } from "./identity.ts";
import type { LivePair } from "./world.ts";

/** Past its deadline a deletion that comes is allowed. It comes after the longest pause that a refusal names, or at the start of a round. */
const LATEST_SECONDS = 30;

export function isPreemptionOverdue({ spec }: LivePair["e"], now: Date): boolean {
  return spec.cause === "Preemption" && secondsSince(spec.deadline, now) >= LATEST_SECONDS;
}

/** Why it ends, or undefined if it goes on: so does one whose migration runs, for that does no harm. */
export function preemptionOver({ e, vmi, migrations, w }: LivePair): string | undefined {
  if (!isPreemptionOverdue(e, w.now)) return undefined;
  const pod = w.pods.find(({ namespace, uid }) => namespace === vmi.namespace && uid === podUIDOf(e));
  const runs = migrations.some((m) => !isFinal(m) && m.phase === "Running");
  return pod === undefined || pod.deleting || runs ? undefined : `no scheduler deletes pod ${pod.name} any more`;
}
