/** Whether Lifeboat's token of a cluster can still be used. */
import { wholeSeconds } from "./time.ts";

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
  if (left <= 0) {
    return { ok: false, reason: "Expired", message: `Lifeboat's token of this cluster ended at ${end}: replace it` };
  }
  if (rejected) {
    const message = "The API server does not accept Lifeboat's token (401): it was revoked, or is not this cluster's";
    return { ok: false, reason: "Rejected", message };
  }
  if (left < SOON_DAYS * DAY_MS) {
    const message = `Lifeboat's token of this cluster ends at ${end}, in less than ${SOON_DAYS} days: replace it`;
    return { ok: true, reason: "ExpiresSoon", message };
  }
  const message = `The API server accepts Lifeboat's token, which ${end === "" ? "names no end" : `ends at ${end}`}`;
  return { ok: true, reason: "Valid", message };
}
