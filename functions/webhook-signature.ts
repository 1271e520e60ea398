/**
 * Standard Webhooks signatures, with the clock passed in.
 * Owns: tolerance, rotation. Does not own: the signature itself (library standardwebhooks).
 * Specification: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import { timingSafeEqual } from "hono/utils/buffer";
import { Webhook } from "standardwebhooks";

const TOLERANCE_SECONDS = 5 * 60;
/** Senders sign with an old and a new secret while rotating. Anybody may send a header of thousands. */
const MOST_SIGNATURES = 8;

export interface SignatureHeaders {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly timestamp: string;
  /** `v1,<base64>`, several separated by spaces. */
  readonly signature: string;
}

/** Whether one of the signatures was made with one of the secrets, not more than five minutes from now. */
export async function isSigned(
  payload: string,
  { id, timestamp, signature }: SignatureHeaders,
  secrets: readonly string[],
  now: Date,
): Promise<boolean> {
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN;
  const fresh = Math.abs(now.getTime() / 1000 - seconds) <= TOLERANCE_SECONDS;
  if (!fresh || id === "") return false;
  const expected = secrets.map((secret) => new Webhook(secret).sign(id, new Date(seconds * 1000), payload));
  const pairs = signature
    .split(" ", MOST_SIGNATURES)
    .flatMap((given) => expected.map((e) => timingSafeEqual(given, e)));
  return (await Promise.all(pairs)).includes(true);
}
