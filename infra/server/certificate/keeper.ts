/**
 * Keeps the server's certificate and tokens: in its Secret, in the webhooks, in this process.
 *
 * All replicas do the same. Where two write at the same time, the Secret's resourceVersion decides, and the other looks again.
 */
import { randomBytes, X509Certificate } from "node:crypto";
import type { Client } from "../../../shared/kube/client.ts";
import { type Clock, pause } from "../../relay/clock.ts";
import type { Pair } from "../listener.ts";
import { HOST } from "../names.ts";
import { type Kept, lookAgainMs, type Step, stepDue, validityFrom } from "./life.ts";
import { makeCertificate, type Validity } from "./make.ts";
import { type Change, changeSecret, readSecret, type ServerSecret } from "./secret.ts";
import { pointWebhooks } from "./webhooks.ts";

export interface Identity {
  readonly pair: Pair;
  /** Each opens its doors; the webhooks have the first. */
  readonly webhookToken: readonly [string, ...string[]];
  readonly operatorToken: readonly [string, ...string[]];
}

export interface KeeperOptions {
  readonly cluster: string;
  /** Its requests end in good time. */
  readonly connect: () => Client;
  readonly clock: Clock;
  /** Told with every look. */
  readonly use: (identity: Identity) => Promise<void> | void;
  readonly onFailure: (error: unknown) => void;
}

export async function keep(options: KeeperOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waitMs = await look(options).catch((error: unknown) => {
      options.onFailure(error);
      return RETRY_MS;
    });
    await pause(options.clock, waitMs, signal);
  }
}

const RETRY_MS = 2000;

/** Resolves to how many milliseconds later to look again. */
export async function look({ cluster, connect, clock, use }: KeeperOptions): Promise<number> {
  const client = connect();
  const secret = await readSecret(client);
  const { isCertManagers } = secret;
  const identity = identityOf(secret);
  if (identity !== undefined) {
    const [webhookToken] = identity.webhookToken;
    await use(identity);
    // Only what the API server has been told of is served later: a failure here puts off the next step.
    const pointing = { cluster, webhookToken, trusted: isCertManagers ? undefined : bundleOf(secret) };
    if ((await pointWebhooks(pointing, client)) === "Conflict") return 0;
  }
  const validities = validitiesOf(secret);
  const change = { ...tokensDue(secret), ...(isCertManagers ? {} : await changeOf(validities, secret, clock.now())) };
  if (Object.keys(change).length === 0) return lookAgainMs(validities);
  await changeSecret(secret, change, client);
  return 0;
}

/** The same certificates are the same text, whichever of them is served. */
function bundleOf({ data }: ServerSecret): string {
  const certificates = [data["tls.crt"], data["next.crt"], data["previous.crt"]];
  return certificates
    .flatMap((pem) => (pem === undefined || validityOf(pem) === undefined ? [] : [`${pem.trim()}\n`]))
    .toSorted()
    .join("");
}

function identityOf({ data }: ServerSecret): Identity | undefined {
  const { "tls.crt": certPem, "tls.key": keyPem } = data;
  const [webhookToken, operatorToken] = [tokensIn(data["webhookToken"]), tokensIn(data["operatorToken"])];
  if (certPem === undefined || keyPem === undefined || validityOf(certPem) === undefined) return undefined;
  if (webhookToken === undefined || operatorToken === undefined) return undefined;
  return { pair: { certPem, keyPem }, webhookToken, operatorToken };
}

/** One, or several with commas between them while it is being rotated. */
function tokensIn(text = ""): Identity["webhookToken"] | undefined {
  const [first, ...others] = text.split(",").flatMap((token) => token.trim() || []);
  return first === undefined ? undefined : [first, ...others];
}

export function newToken(): string {
  return randomBytes(32).toString("hex");
}

function tokensDue({ data }: ServerSecret): Change {
  const missing = (["webhookToken", "operatorToken"] as const).filter((key) => tokensIn(data[key]) === undefined);
  return Object.fromEntries(missing.map((key) => [key, newToken()]));
}

function validitiesOf({ data }: ServerSecret): Kept<Validity> {
  const [serving, next, previous] = (["tls.crt", "next.crt", "previous.crt"] as const).map((key) =>
    validityOf(data[key]),
  );
  return { ...(serving && { serving }), ...(next && { next }), ...(previous && { previous }) };
}

/** What is no certificate counts as none, so that a new one takes its place. */
function validityOf(pem: string | undefined): Validity | undefined {
  if (pem === undefined) return undefined;
  try {
    const { validFromDate: notBefore, validToDate: notAfter } = new X509Certificate(pem);
    return { notBefore, notAfter };
  } catch {
    return undefined;
  }
}

async function changeOf(kept: Kept<Validity>, secret: ServerSecret, now: Date): Promise<Change> {
  const step = stepDue(kept, now);
  return step === undefined ? {} : await CHANGES[step](secret, now);
}

const CHANGES: Readonly<Record<Step, (secret: ServerSecret, now: Date) => Promise<Change>>> = {
  async Create(_, now) {
    const { certPem, keyPem } = await makeCertificate(HOST, validityFrom(now));
    return { "tls.crt": certPem, "tls.key": keyPem, "next.crt": null, "next.key": null, "previous.crt": null };
  },
  async Announce(_, now) {
    const { certPem, keyPem } = await makeCertificate(HOST, validityFrom(now));
    return { "next.crt": certPem, "next.key": keyPem };
  },
  Serve: ({ data }) =>
    Promise.resolve({
      "tls.crt": data["next.crt"] ?? null,
      "tls.key": data["next.key"] ?? null,
      "next.crt": null,
      "next.key": null,
      "previous.crt": data["tls.crt"] ?? null,
    }),
  Forget: () => Promise.resolve({ "previous.crt": null }),
};
