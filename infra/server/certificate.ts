/**
 * A serving certificate and its life: made, announced in the caBundle, served, forgotten.
 *
 * A new certificate is announced some time before it is served, and the old one is trusted some time longer: an API server may know the
 * older caBundle, and a replica may serve the older certificate, for that long without a failed call.
 */
// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 asks its user for this polyfill
import "reflect-metadata";
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import type { Pair } from "./listener.ts";

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface Kept {
  readonly serving?: Validity | undefined;
  /** Announced, and not served yet. */
  readonly next?: Validity | undefined;
  /** No longer served by a replica that is up to date. */
  readonly previous?: Validity | undefined;
}

export type Step = "Create" | "Announce" | "Serve" | "Forget";

const DAY_MS = 86_400_000;
const LIFE_MS = 90 * DAY_MS;
/** A certificate is renewed when this share of its life has passed. */
const RENEW_AT = 2 / 3;
/** The API server's clock may be behind. */
const BACKDATED_MS = 3_600_000;
const OVERLAP_MS = 600_000;
const RECONCILE_EVERY_MS = 10_000;

export function validityFrom(now: Date): Validity {
  const from = now.getTime() - BACKDATED_MS;
  return { notBefore: new Date(from), notAfter: new Date(from + LIFE_MS) };
}

export function stepDue({ serving, next, previous }: Kept, now: Date): Step | undefined {
  if (serving === undefined) return "Create";
  const time = now.getTime();
  const isOver = time >= serving.notAfter.getTime();
  if (next !== undefined) return isOver || time >= madeAt(next) + overlapMs(serving) ? "Serve" : undefined;
  if (isOver) return "Create";
  if (previous !== undefined && time >= madeAt(serving) + 2 * overlapMs(previous)) return "Forget";
  return time >= serving.notBefore.getTime() + lifeMs(serving) * RENEW_AT ? "Announce" : undefined;
}

/** How soon to reconcile again: several times in an overlap, so that each replica sees every step. */
export function requeueAfterMs(kept: Kept): number {
  const overlaps = [kept.serving, kept.next, kept.previous].flatMap((one) => (one === undefined ? [] : overlapMs(one)));
  return Math.min(RECONCILE_EVERY_MS, ...overlaps.map((ms) => ms / 4));
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

/** Of certificates as PEM. */
export function keptIn(serving?: string, next?: string, previous?: string): Kept {
  return { serving: validityOf(serving), next: validityOf(next), previous: validityOf(previous) };
}

/** Whether the key, as PEM, is that of the certificate: a server cannot start with another. */
export function isPair(certPem = "", keyPem = ""): boolean {
  try {
    return new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false;
  }
}

/** What is no certificate counts as none, so that a new one takes its place. */
export function validityOf(pem = ""): Validity | undefined {
  try {
    const { validFromDate: notBefore, validToDate: notAfter } = new X509Certificate(pem);
    return { notBefore, notAfter };
  } catch {
    return undefined;
  }
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };

/**
 * It signs itself, and the webhooks' caBundle holds the certificate: there is no authority whose key could sign others. Node can read X.509
 * but not write it. @peculiar/x509 does that with WebCrypto's keys; the sandbox uses it too.
 */
export async function makeCertificate(host: string, validity: Validity): Promise<Pair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    // A positive integer in DER: the first bit of the first byte stays clear.
    serialNumber: `01${randomBytes(15).toString("hex")}`,
    // OpenSSL looks for a trusted certificate by its subject: two in one bundle must not have the same.
    name: `CN=${host}@${validity.notBefore.getTime()}`,
    ...validity,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      // The second is for `kubectl port-forward`.
      new x509.SubjectAlternativeNameExtension([host, "localhost"].map((value) => ({ type: "dns", value }))),
    ],
  });
  const pkcs8 = await crypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { certPem: certificate.toString("pem"), keyPem: x509.PemConverter.encode(pkcs8, "PRIVATE KEY") };
}
