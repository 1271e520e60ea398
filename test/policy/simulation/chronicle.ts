/**
 * What truly happened to VMs and pods, and when: what a loss is judged by.
 * Owns: when VMs could not migrate, when pods were chosen by somebody who does not ask, when guests came over. Does not own:
 * what is promised (promise.test.ts), how evacuations end (ledger.ts).
 */
import { type GuardCause, isGuardCause } from "../../../shared/policy/disruption-cause.ts";
import type { PodFacts, VmiFacts } from "../../../shared/policy/facts.ts";

/** From when somebody began to look, or something began, until it ended. */
export interface Span {
  readonly from: Date;
  readonly to: Date;
}

export interface Choice {
  readonly podUID: string;
  readonly nodeName: string | undefined;
  readonly cause: GuardCause;
  readonly at: Date;
}

const NEVER = new Date(8.64e15);

export class Chronicle {
  readonly #pinned = new Map<string, Span[]>();
  readonly #arrived = new Map<string, Date>();
  readonly #choices: Choice[] = [];
  readonly #over = new Set<Choice>();

  /** The VMI is so from now on. */
  observe({ uid, liveMigratable }: VmiFacts, now: Date): void {
    const spans = this.#pinned.get(uid) ?? [];
    const last = spans.at(-1);
    const isPinned = last?.to === NEVER;
    if (isPinned && liveMigratable.migratable) spans[spans.length - 1] = { from: last.from, to: now };
    if (!isPinned && !liveMigratable.migratable) spans.push({ from: now, to: NEVER });
    this.#pinned.set(uid, spans);
  }

  couldNotMove({ uid }: VmiFacts, { from, to }: Span): boolean {
    return this.#pinned.get(uid)?.some((span) => span.from <= to && span.to >= from) === true;
  }

  /** A guest runs in this pod from now on. */
  arrive(podUID: string, now: Date): void {
    this.#arrived.set(podUID, now);
  }

  hasArrivedSince(podUID: string, from: Date): boolean {
    const arrived = this.#arrived.get(podUID);
    return arrived !== undefined && arrived >= from;
  }

  /** Anew, so that earlier choices of the pod are over, unless the VMI tells of them. */
  choose({ uid, nodeName }: PodFacts, cause: GuardCause, { record }: VmiFacts, at: Date): void {
    const isKept = record?.podUID === uid && isGuardCause(record.cause);
    if (!isKept) for (const one of this.#choices) if (one.podUID === uid) this.#over.add(one);
    this.#choices.push({ podUID: uid, nodeName, cause, at });
  }

  /** Those that count about a pod of that VMI: also one that is over, if its record, written late, tells of it. */
  choices({ record }: VmiFacts): readonly Choice[] {
    const isTold = ({ podUID, at }: Choice) => podUID === record?.podUID && at.toISOString() === record.since;
    return this.#choices.filter((one) => !this.#over.has(one) || isTold(one));
  }
}
