/** Whether a caller is let in: by the specification, worked out anew from the request alone. */
import type { Asked } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type DoorName, type Key } from "./contract.ts";
import { signatureOf } from "./requests/credentials.ts";
import { type FuzzedRequest, headersOf, pathOf, textOf } from "./requests/request.ts";

const TOLERANCE_SECONDS = 300;
/** Ours: the specification has no limit. */
const MOST_SIGNATURES = 8;

/** What opens the doors of one cluster. */
export interface Keys {
  readonly webhookToken: string;
  /** Default: the webhook's. */
  readonly operatorToken?: string;
  readonly relaySecret: readonly string[];
}

/** By name of the cluster; no API server is asked about any other one. */
export type KeysByCluster = ReadonlyMap<string, Keys>;

export interface Asking {
  readonly code: number;
  readonly asked: readonly Asked[];
  readonly now: Date;
  readonly keys: KeysByCluster;
}

/** A caller who presents what opens the door is let in; no other one gets further than the door. */
export function authenticationProblems(door: DoorName, request: FuzzedRequest, asking: Asking): readonly string[] {
  const { code, asked, now } = asking;
  const { key } = CONTRACT[door];
  if (key === "None") return asked.length > 0 ? [`${door}: something was read where there is nothing to be had`] : [];
  const keys = asking.keys.get(clusterOf(request));
  if (keys !== undefined && presents(key, request, { keys, now })) {
    return code === 401 ? [`${door}: refused, with what opens it`] : [];
  }
  const read = asked.length > 0 ? [`${door}: something was read for a stranger`] : [];
  const refused = keys === undefined ? isUnanswered(door, code) : isRefused(key, code);
  return refused ? read : [...read, `${door}: a stranger got ${code}`];
}

/** A delivery's length is looked at before its signature. */
function isRefused(key: Key, code: number): boolean {
  return code === 401 || (key === "Signature" && code === 413);
}

/** A review for a cluster whose entry is broken is answered, from itself alone, before a caller could be asked for a token. */
function isUnanswered(door: DoorName, code: number): boolean {
  return code >= 400 || ((door === "evictions" || door === "deletions") && code === 200);
}

function clusterOf(request: FuzzedRequest): string {
  return decoded(pathOf(request).split("/")[2] ?? "");
}

/** A segment that cannot be decoded stays as it is. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function presents(
  key: Exclude<Key, "None">,
  request: FuzzedRequest,
  { keys, now }: { readonly keys: Keys; readonly now: Date },
): boolean {
  switch (key) {
    case "Signature":
      return isSigned(request, keys.relaySecret, now);
    case "Operator":
      return bearerOf(request) === (keys.operatorToken ?? keys.webhookToken);
    case "Webhook":
      return bearerOf(request) === keys.webhookToken;
    case "WebhookOrPath":
      return (bearerOf(request) ?? inPath(request)) === keys.webhookToken;
  }
}

/** One word after the scheme: of two headers, which arrive as one, neither is a bearer. */
function bearerOf(request: FuzzedRequest): string | undefined {
  return /^bearer +(?<token>\S+)$/i.exec(headersOf(request).get("authorization") ?? "")?.groups?.["token"];
}

/** `/clusters/{cluster}/admission/{review}/{webhookToken}`. */
function inPath(request: FuzzedRequest): string | undefined {
  const token = pathOf(request).split("/")[5];
  return token === undefined ? undefined : decoded(token);
}

function isSigned(request: FuzzedRequest, secrets: readonly string[], now: Date): boolean {
  const headers = headersOf(request);
  const said = (name: string) => headers.get(`webhook-${name}`) ?? "";
  const [id, timestamp] = [said("id"), said("timestamp")];
  const isFresh = Math.abs(now.getTime() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS;
  if (id === "" || !/^\d{1,12}$/.test(timestamp) || !isFresh) return false;
  const right = secrets.map((secret) => signatureOf(textOf(request), id, timestamp, secret));
  return said("signature")
    .split(" ", MOST_SIGNATURES)
    .some((given) => right.includes(given));
}
