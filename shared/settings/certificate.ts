/** Determines how long the API server trusts the certificate of Lifeboat's in-cluster server. */
import { wholeSeconds } from "./time.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The certificate, compared with the caBundle of one webhook configuration. */
export interface CertificateFacts {
  /** True if the caBundle contains the certificate itself or a CA that issued it. */
  readonly trusted: boolean;
  readonly chain: readonly Validity[];
}

export interface CertificateVerdict {
  readonly ok: boolean;
  readonly reason: "Valid" | "ExpiresSoon" | "Expired";
  readonly message: string;
}

const DAY_MS = 86_400_000;
const NOTICE_MS = 90 * DAY_MS;
const LAST_SHARE = 1 / 4;

/** Returns the time from which a person should renew the certificate. */
export function renewalTime(chain: readonly Validity[]): Date {
  const times = chain.map(({ notBefore, notAfter }) => {
    const life = notAfter.getTime() - notBefore.getTime();
    return notAfter.getTime() - Math.min(NOTICE_MS, life * LAST_SHARE);
  });
  return new Date(Math.min(...times));
}

export function judgeCertificate(chain: readonly Validity[], now: Date): CertificateVerdict {
  const end = new Date(Math.min(...chain.map(({ notAfter }) => notAfter.getTime())));
  const day = wholeSeconds(end);
  if (end <= now) return { ok: false, reason: "Expired", message: MESSAGES.certificateEnded(day) };
  if (renewalTime(chain) <= now) return { ok: true, reason: "ExpiresSoon", message: MESSAGES.certificateEnds(day) };
  return { ok: true, reason: "Valid", message: MESSAGES.certificateValid(day) };
}
