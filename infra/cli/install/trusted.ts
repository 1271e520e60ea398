/**
 * Decides which certificate Lifeboat presents in the cluster, and which certificates the webhooks' caBundle trusts. The
 * first rule that applies decides.
 */
import type { X509Certificate } from "node:crypto";
import { certificatesIn, pemOf, trustIn, validityOf } from "../../server/certificate.ts";
import type { Pair } from "../../server/listener.ts";
import { HOST } from "../../server/names.ts";
import { partsOf, SECRET, type ServerSecret } from "../../server/secret.ts";

export interface Present {
  readonly secret: ServerSecret;
  /** The caBundles of the webhooks that call the Service, in base64. */
  readonly caBundles: readonly string[];
  readonly token: string | undefined;
}

export interface Situation extends Present {
  readonly ca: string | undefined;
  readonly isCertManagers: boolean;
  readonly now: Date;
}

export type TrustDecision =
  | { readonly action: "Make" }
  /**
   * `trusted` contains two caBundles in PEM: for the time during a change of the certificate, and for the time after
   * the change. If absent, cert-manager writes the caBundle.
   */
  | { readonly action: "Keep"; readonly trusted?: readonly [string, string] }
  | { readonly action: "Refuse"; readonly why: string };

type Rule = (situation: Situation, pair: Pair | undefined) => TrustDecision | undefined;

export const WHERE = `Secret ${SECRET.name} in namespace ${SECRET.namespace}`;
export const README = "infra/server/README.md says how to fill the Secret";

/** cert-manager makes the certificate and writes the caBundle. */
const certManagers: Rule = ({ isCertManagers: is }, pair) => {
  return is && pair !== undefined ? { action: "Keep" } : undefined;
};

/** A person provides the CA and the certificate. */
const broughtAlong: Rule = ({ ca }, pair) => {
  if (ca === undefined) return undefined;
  if (pair === undefined) return { action: "Refuse", why: `--ca-bundle: ${WHERE} has no certificate: ${README}` };
  const why = `--ca-bundle: the file does not trust the certificate in ${WHERE}`;
  return trustIn(encoded(ca), pair.certPem).trusted ? { action: "Keep", trusted: [ca, ca] } : { action: "Refuse", why };
};

/** Another party made the certificate, and the server cannot use it. */
const unusable: Rule = ({ secret }, pair) => {
  const [found] = certificatesIn(secret.data["tls.crt"] ?? "");
  if (pair !== undefined || found === undefined || isOwn(found)) return undefined;
  const why = `Lifeboat did not make the certificate in ${WHERE}, and this certificate is not for ${HOST} or does not match tls.key`;
  return { action: "Refuse", why: `${why}: ${README}` };
};

/** There is no certificate, or Lifeboat's own certificate expires within a year. */
const madeAnew: Rule = (situation, pair) => {
  const [certificate] = certificatesIn(pair?.certPem ?? "");
  if (certificate === undefined) return { action: "Make" };
  if (!isOwn(certificate)) return undefined;
  const left = validityOf(certificate).notAfter.getTime() - situation.now.getTime();
  return left < RENEWED_BEFORE_MS ? { action: "Make" } : undefined;
};

/** Lifeboat's own certificate does not expire within a year, and is kept. */
const kept: Rule = ({ caBundles, now }, pair) => {
  const [certificate] = certificatesIn(pair?.certPem ?? "");
  if (certificate === undefined || !isOwn(certificate)) return undefined;
  return { action: "Keep", trusted: [bundle([...trustedIn(caBundles, now), certificate]), bundle([certificate])] };
};

/** The webhooks trust another party's certificate, which Lifeboat does not replace. */
const someoneElses: Rule = ({ caBundles }, pair) => {
  const found = caBundles.find((one) => trustIn(one, pair?.certPem ?? "").trusted);
  if (found !== undefined) return { action: "Keep", trusted: [pemOf(found), pemOf(found)] };
  const why = `Lifeboat did not make the certificate in ${WHERE}, and no webhook's caBundle trusts it`;
  return { action: "Refuse", why: `${why}: pass --ca-bundle FILE with the certificate's CA` };
};

/** A person has written a token that is too short or contains spaces. */
const shortToken: Rule = ({ secret }) => {
  const { webhookToken, operatorToken } = partsOf(secret);
  const { data } = secret;
  if (!isShort(data.webhookToken, webhookToken) && !isShort(data.operatorToken, operatorToken)) return undefined;
  return { action: "Refuse", why: `a token in ${WHERE} has fewer than 16 characters or contains spaces: ${README}` };
};

function isShort(text: string | undefined, read: unknown): boolean {
  return Boolean(text?.trim()) && read === undefined;
}

const RULES: readonly Rule[] = [unusable, shortToken, broughtAlong, certManagers, madeAnew, kept, someoneElses];
const RENEWED_BEFORE_MS = 365 * 86_400_000;

export function decideTrust(situation: Situation): TrustDecision {
  const { pair } = partsOf(situation.secret);
  for (const rule of RULES) {
    const decision = rule(situation, pair);
    if (decision !== undefined) return decision;
  }
  return { action: "Make" };
}

/** Returns whether Lifeboat made the certificate. Such a certificate is self-signed and has a time in its name. */
export function isOwn({ subject, issuer }: X509Certificate): boolean {
  return subject === issuer && subject.startsWith(`CN=${HOST}@`);
}

function trustedIn(caBundles: readonly string[], now: Date): readonly X509Certificate[] {
  return caBundles.flatMap((one) => certificatesIn(pemOf(one))).filter((one) => validityOf(one).notAfter > now);
}

function bundle(certificates: readonly X509Certificate[]): string {
  return [...new Set(certificates.map((one) => `${one.toString().trim()}\n`))].toSorted().join("");
}

/** Returns two caBundles in PEM: for the time during the replacement of the certificate, and for the time after it. */
export function bundlesAround(
  made: Pair | undefined,
  { secret, caBundles }: Present,
  now: Date,
): readonly [string, string] {
  const next = certificatesIn(made?.certPem ?? "");
  const served = certificatesIn(partsOf(secret).pair?.certPem ?? "");
  return [bundle([...trustedIn(caBundles, now), ...served, ...next]), bundle(next)];
}

export function encoded(pem: string): string {
  return Buffer.from(pem).toString("base64");
}
