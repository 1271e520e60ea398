/**
 * Keeps the server's certificate and tokens: in its Secret, in the webhooks, in this process.
 *
 * All replicas do the same. Where two write at the same time, the Secret's resourceVersion decides, and the other reconciles again.
 */
import { randomBytes } from "node:crypto";
import { type Client, meaningOf } from "../../shared/kube/client.ts";
import { kind, Meta, TextsOrNone } from "../../shared/kube/schemas/fields.ts";
import { type Clock, pause } from "../relay/clock.ts";
import {
  isPair,
  type Kept,
  keptIn,
  requeueAfterMs,
  makeCertificate,
  stepDue,
  validityFrom,
  validityOf,
} from "./certificate.ts";
import type { Pair } from "./listener.ts";
import { HOST, NAME, NAMESPACE } from "./names.ts";
import { pointWebhooks } from "./webhooks.ts";

export interface Identity {
  readonly pair: Pair;
  /** Each is accepted; the webhooks have the first. */
  readonly webhookToken: readonly [string, ...string[]];
  readonly operatorToken: readonly [string, ...string[]];
}

export interface KeeperOptions {
  readonly cluster: string;
  /** Its requests end in good time. */
  readonly connect: () => Client;
  readonly clock: Clock;
  /** Called by every reconcile. */
  readonly use: (identity: Identity) => Promise<void> | void;
  readonly onFailure: (error: unknown) => void;
}

export async function keep(options: KeeperOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waitMs = await reconcileIdentity(options).catch((error: unknown) => {
      options.onFailure(error);
      return RETRY_MS;
    });
    await pause(options.clock, Math.max(waitMs, AGAIN_MS), signal);
  }
}

const RETRY_MS = 2000;
/** At least: a policy may answer each change with 409. */
const AGAIN_MS = 100;

/** Resolves to how many milliseconds later to do it again. */
export async function reconcileIdentity({ cluster, connect, clock, use }: KeeperOptions): Promise<number> {
  const client = connect();
  const secret = await readSecret(client);
  const { isCertManagers } = secret;
  const identity = identityOf(secret);
  let mostMs = Infinity;
  if (identity !== undefined) {
    const [webhookToken] = identity.webhookToken;
    await use(identity);
    // Only what the API server trusts is served later: a failure here puts off the next step.
    const pointing = { cluster, webhookToken, trusted: isCertManagers ? undefined : bundleOf(secret) };
    const pointed = await pointWebhooks(pointing, client);
    if (pointed === "Conflict") return 0;
    // Until it names these certificates, the API server lets evictions pass without a review.
    if (pointed === "Missing") mostMs = RETRY_MS;
  }
  const { data } = secret;
  const kept = keptIn(data["tls.crt"], data["next.crt"], data["previous.crt"]);
  const change = { ...tokensDue(secret), ...(isCertManagers ? {} : await changeDue(kept, secret, clock.now())) };
  if (Object.keys(change).length === 0) return Math.min(mostMs, requeueAfterMs(kept));
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
  if (certPem === undefined || keyPem === undefined) return undefined;
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

/** Of the certificates in the Secret. */
async function changeDue(kept: Kept, { data }: ServerSecret, now: Date): Promise<Change> {
  const step = stepDue(kept, now);
  switch (step) {
    case undefined:
      return {};
    case "Create": {
      const { certPem, keyPem } = await makeCertificate(HOST, validityFrom(now));
      return { "tls.crt": certPem, "tls.key": keyPem, "next.crt": null, "next.key": null, "previous.crt": null };
    }
    case "Announce": {
      const { certPem, keyPem } = await makeCertificate(HOST, validityFrom(now));
      return { "next.crt": certPem, "next.key": keyPem };
    }
    case "Serve": {
      const { "next.crt": crt = null, "next.key": key = null, "tls.crt": previous = null } = data;
      return { "tls.crt": crt, "tls.key": key, "next.crt": null, "next.key": null, "previous.crt": previous };
    }
    case "Forget":
      return { "previous.crt": null };
  }
}

const SECRET = { namespace: NAMESPACE, name: NAME };

type Key = "tls.crt" | "tls.key" | "next.crt" | "next.key" | "previous.crt" | "webhookToken" | "operatorToken";

interface ServerSecret {
  readonly resourceVersion: string;
  /** cert-manager writes the certificate: then none of it is Lifeboat's to write. */
  readonly isCertManagers: boolean;
  /** Texts that are not empty. */
  readonly data: { readonly [K in Key]?: string };
}

/** null removes a key; an absent one stays. */
type Change = { readonly [K in Key]?: string | null };

const Secret = kind(
  () => ({ metadata: Meta, data: TextsOrNone }),
  ({ metadata: { resourceVersion, annotations }, data }): ServerSecret => ({
    resourceVersion,
    isCertManagers: Object.keys(annotations ?? {}).some((key) => key.startsWith("cert-manager.io/")),
    data: usable(
      Object.fromEntries(
        Object.entries(data)
          .map(([key, value]) => [key, Buffer.from(value, "base64").toString()] as const)
          .filter(([, text]) => text !== ""),
      ),
    ),
  }),
);

/** A certificate with another one's key is as good as none: a new one takes its place. */
function usable(data: ServerSecret["data"]): ServerSecret["data"] {
  const { "tls.crt": crt, "tls.key": key, "next.crt": nextCrt, "next.key": nextKey, ...others } = data;
  return {
    ...others,
    ...(isPair(crt, key) && { "tls.crt": crt, "tls.key": key }),
    ...(isPair(nextCrt, nextKey) && { "next.crt": nextCrt, "next.key": nextKey }),
  };
}

async function readSecret(cluster: Client): Promise<ServerSecret> {
  const found = await cluster.get("secrets", SECRET, { as: Secret });
  if (found === undefined) throw new Error(`there is no Secret ${NAME} in namespace ${NAMESPACE}`);
  return found;
}

/** Another replica may be first. A Secret that may not be changed (immutable, or by a policy) is a failure. */
async function changeSecret({ resourceVersion }: ServerSecret, change: Change, cluster: Client): Promise<void> {
  const encoded = Object.entries(change).map(
    ([key, text]) => [key, text === null ? null : Buffer.from(text).toString("base64")] as const,
  );
  const body = { metadata: { resourceVersion }, data: Object.fromEntries(encoded) };
  meaningOf(await cluster.patch("secrets", SECRET, body), { 409: "Conflict" });
}
