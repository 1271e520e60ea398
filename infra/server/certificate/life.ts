/**
 * The life of a serving certificate: made, announced in the caBundle, served, forgotten.
 *
 * A new certificate is announced some time before it is served, and the old one is trusted some time longer: an API server may know the
 * older caBundle, and a replica may serve the older certificate, for that long without a failed call.
 */
import type { Validity } from "./make.ts";

export interface Kept<Certificate> {
  readonly serving?: Certificate;
  /** Announced, and not served yet. */
  readonly next?: Certificate;
  /** No longer served by a replica that is up to date. */
  readonly previous?: Certificate;
}

export type Step = "Create" | "Announce" | "Serve" | "Forget";

const DAY_MS = 86_400_000;
const LIFE_MS = 90 * DAY_MS;
/** A certificate is renewed when this share of its life has passed. */
const RENEW_AT = 2 / 3;
/** The API server's clock may be behind. */
const BACKDATED_MS = 3_600_000;
const OVERLAP_MS = 600_000;
const LOOK_EVERY_MS = 10_000;

export function validityFrom(now: Date): Validity {
  const from = now.getTime() - BACKDATED_MS;
  return { notBefore: new Date(from), notAfter: new Date(from + LIFE_MS) };
}

export function stepDue({ serving, next, previous }: Kept<Validity>, now: Date): Step | undefined {
  if (serving === undefined) return "Create";
  const time = now.getTime();
  const isOver = time >= serving.notAfter.getTime();
  if (next !== undefined) return isOver || time >= madeAt(next) + overlapMs(serving) ? "Serve" : undefined;
  if (isOver) return "Create";
  if (previous !== undefined && time >= madeAt(serving) + 2 * overlapMs(previous)) return "Forget";
  return time >= serving.notBefore.getTime() + lifeMs(serving) * RENEW_AT ? "Announce" : undefined;
}

/** How soon to look again: several times in an overlap, so that each replica sees every step. */
export function lookAgainMs(kept: Kept<Validity>): number {
  const overlaps = [kept.serving, kept.next, kept.previous].flatMap((one) => (one === undefined ? [] : overlapMs(one)));
  return Math.min(LOOK_EVERY_MS, ...overlaps.map((ms) => ms / 4));
}

function madeAt({ notBefore }: Validity): number {
  return notBefore.getTime() + BACKDATED_MS;
}

function lifeMs({ notBefore, notAfter }: Validity): number {
  return notAfter.getTime() - notBefore.getTime();
}

function overlapMs(validity: Validity): number {
  return Math.min(OVERLAP_MS, lifeMs(validity) / 30);
}
