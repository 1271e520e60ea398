/** Checks whether Lifeboat's token for a cluster is still valid. */
import { wholeSeconds } from "./time.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

export interface CredentialFacts {
  readonly expiresAt: Date | undefined;
  readonly rejected: boolean;
}

export type CredentialReason = "Valid" | "ExpiresSoon" | "Expired" | "Rejected";

export interface CredentialVerdict {
  readonly reason: CredentialReason;
  readonly message: string;
  readonly ok: boolean;
}

const DAY_MS = 24 * 3600 * 1000;
const SOON_DAYS = 7;

export function judgeCredential({ expiresAt, rejected }: CredentialFacts, now: Date): CredentialVerdict {
  const left = expiresAt === undefined ? Infinity : expiresAt.getTime() - now.getTime();
  const end = expiresAt === undefined ? "" : wholeSeconds(expiresAt);
  if (left <= 0) return { ok: false, reason: "Expired", message: MESSAGES.tokenEnded(end) };
  if (rejected) return { ok: false, reason: "Rejected", message: MESSAGES.tokenRejected };
  if (left < SOON_DAYS * DAY_MS) {
    return { ok: true, reason: "ExpiresSoon", message: MESSAGES.tokenEnds(end, SOON_DAYS) };
  }
  return { ok: true, reason: "Valid", message: MESSAGES.tokenAccepted(end) };
}
