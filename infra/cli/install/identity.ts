/**
 * Creates the certificate and the tokens of an in-cluster Lifeboat once, and stores them in the server's Secret. The
 * server has no permission to write the Secret or the webhooks, so no account of Lifeboat can redirect a webhook. While
 * one certificate replaces another, the webhooks trust both certificates. The API server and the replicas learn of the
 * change at different times, and a failed webhook call would allow an eviction.
 */
import { randomBytes } from "node:crypto";
import * as z from "zod/mini";
import { parseAnswer } from "../../../shared/kube/read.ts";
import type { Send } from "../../../shared/kube/transport.ts";
import { partsOfUrl } from "../../../shared/settings/webhooks.ts";
import type { Pair } from "../../server/listener.ts";
import { HOST } from "../../server/names.ts";
import { partsOf, SECRET, ServerSecret, tokensIn } from "../../server/secret.ts";
import { Failed } from "../failed.ts";
import type { Host } from "../host.ts";
import { ifThere, readObject, until } from "./apply.ts";
import { makeCertificate, validityFrom } from "./make-certificate.ts";
import type { Manifest } from "./manifests.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import { type Inside, SERVICE } from "./plan.ts";
import { bundlesAround, decideTrust, encoded, type Present, README, WHERE } from "./trusted.ts";

export interface Giving {
  readonly send: () => Send;
  readonly host: Host;
  readonly seconds: number;
  /** The CA in PEM, if a person provides the certificate. */
  readonly ca?: string | undefined;
  readonly webhooks: readonly Manifest[];
  readonly apply: (home: Inside) => Promise<void>;
}

export interface GivenIdentity {
  /** The settings of the installation during the change. The caBundle trusts the old and the new certificate. */
  readonly home: Inside;
  /** The settings of the installation after the change. The caBundle trusts only the new certificate. */
  readonly settled: Inside;
}

/** The wait, in milliseconds, until every API server has received the changed webhook objects. */
const LEARNED_MS = 30_000;
/** The wait, in milliseconds, until every replica serves the certificate. A replica reads the Secret every 10 s. */
const SERVED_MS = 60_000;

export async function giveIdentity(home: Inside, giving: Giving): Promise<GivenIdentity> {
  const { host, send, ca, webhooks } = giving;
  const now = host.now();
  const present = await readPresent(home, giving);
  const { secret } = present;
  const decision = decideTrust({ ...present, ca, isCertManagers: isCertManagers(home, secret), now });
  if (decision.action === "Refuse") throw new Failed(decision.why);
  const pair = decision.action === "Make" ? await makeCertificate(HOST, validityFrom(now)) : undefined;
  const { webhookToken, change } = changeOf(present, pair);
  const [before, after] = decision.action === "Keep" ? (decision.trusted ?? []) : bundlesAround(pair, present, now);
  const given = { home: withBundle(home, webhookToken, before), settled: withBundle(home, webhookToken, after) };
  if (pair !== undefined && present.caBundles.length > 0 && webhooks.length > 0) {
    await giving.apply(given.home);
    await pauseFor(LEARNED_MS, MESSAGES.apiServerLearns, host);
  }
  if (Object.keys(change).length === 0 || (await isWritten(secret, change, send()))) return given;
  // Starts again, because another run of `lifeboat install` has changed the Secret.
  return await giveIdentity(home, giving);
}

/**
 * The allowed characters of a webhook token. The API server refuses other characters in a webhook's path, and its error
 * message would show the token.
 */
const PATH_SEGMENT = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Returns the values to add to the Secret. If it has no webhook token, takes the token from the webhooks' paths. */
function changeOf({ secret, token }: Present, pair: Pair | undefined) {
  const tokens = partsOf(secret);
  const webhookToken = tokens.webhookToken?.[0] ?? tokensIn(token)?.[0] ?? newToken();
  if (!PATH_SEGMENT.test(webhookToken)) throw new Failed(MESSAGES.oddWebhookToken(SECRET.name));
  const change = {
    ...(pair && { "tls.crt": pair.certPem, "tls.key": pair.keyPem, ...OF_0_3 }),
    ...(tokens.webhookToken === undefined && { webhookToken }),
    ...(tokens.operatorToken === undefined && { operatorToken: newToken() }),
  };
  return { webhookToken, change };
}

function withBundle(home: Inside, webhookToken: string, caBundle: string | undefined): Inside {
  const trust = caBundle === undefined ? { certManager: true } : { caBundle: encoded(caBundle) };
  return { ...home, webhookToken, ...trust };
}

/** Waits until every replica serves the new certificate, and then removes the old certificate from the caBundles. */
export async function settle({ home, settled }: GivenIdentity, { host, apply }: Giving): Promise<void> {
  if (home.caBundle === settled.caBundle) return;
  await pauseFor(SERVED_MS, MESSAGES.replicasLearn, host);
  await apply(settled);
}

async function pauseFor(ms: number, why: (seconds: number) => string, host: Host): Promise<void> {
  host.stderr.write(why(ms / 1000));
  await host.wait(ms);
  if (host.interrupted.aborted) throw new Failed(MESSAGES.interrupted);
}

function newToken(): string {
  return randomBytes(32).toString("hex");
}

/** Keys of the Secret that only Lifeboat 0.3 used. `install` removes these keys. */
const OF_0_3 = { "next.crt": null, "next.key": null, "previous.crt": null } as const;

const PATH = `/api/v1/namespaces/${SECRET.namespace}/secrets/${SECRET.name}`;
const ClientConfig = z.object({
  caBundle: z.optional(z.string()),
  service: z.optional(z.object({ namespace: z.string(), name: z.string(), path: z.optional(z.string()) })),
});
const Webhooks = z.object({ webhooks: z.array(z.object({ clientConfig: ClientConfig })) });

async function readPresent(home: Inside, giving: Giving): Promise<Present> {
  const { send, webhooks } = giving;
  const objects = await Promise.all(webhooks.map((one) => readObject(one, send())));
  const pointing = objects
    .flatMap((one) => Webhooks.safeParse(one).data?.webhooks ?? [])
    .filter(
      ({ clientConfig: { service } }) => service?.name === SERVICE.name && service.namespace === SERVICE.namespace,
    );
  return {
    secret: await readSecret(home, giving),
    caBundles: pointing.flatMap(({ clientConfig: { caBundle } }) => caBundle || []),
    token: pointing.flatMap(({ clientConfig: { service } }) => partsOfUrl(service?.path ?? "")?.token ?? [])[0],
  };
}

/** Reads the Secret. If cert-manager creates the certificate, waits for the certificate. */
async function readSecret(home: Inside, giving: Giving): Promise<ServerSecret> {
  const { send, ca } = giving;
  const read = async () => {
    const answer = await ifThere(send()({ method: "GET", path: PATH, expect: [404] }));
    return answer && parseAnswer(ServerSecret, answer.body, `GET ${PATH}`);
  };
  const found = await read();
  if (found === undefined) throw new Failed(MESSAGES.noSecret(WHERE));
  const isComing = ca === undefined && isCertManagers(home, found);
  if (!isComing || partsOf(found).pair !== undefined) return found;
  return await until(MESSAGES.noCertificate(WHERE, README), giving, async () => {
    const later = await read();
    return later && partsOf(later).pair !== undefined ? later : undefined;
  });
}

function isCertManagers(home: Inside, secret: ServerSecret): boolean {
  return home.certManager === true || secret.isCertManagers;
}

/** Writes the Secret. Resolves to false if another party has changed the Secret. A null removes a key. */
async function isWritten(
  { resourceVersion }: ServerSecret,
  change: Readonly<Record<string, string | null>>,
  send: Send,
): Promise<boolean> {
  const encodedChange = Object.entries(change).map(
    ([key, text]) => [key, text === null ? null : encoded(text)] as const,
  );
  const body = { metadata: { resourceVersion }, data: Object.fromEntries(encodedChange) };
  const contentType = "application/merge-patch+json";
  const query = { fieldManager: "lifeboat-install" };
  const { code } = await send({ method: "PATCH", path: PATH, body, contentType, query, expect: [409] });
  return code !== 409;
}
