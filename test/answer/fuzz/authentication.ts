/** Checks whether Lifeboat accepts exactly the callers that the specification accepts. */
import type { Asked } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type EndpointName, type Key } from "./contract.ts";
import { signatureOf } from "./requests/credentials.ts";
import { decoded, type FuzzedRequest, headersOf, pathOf, textOf } from "./requests/request.ts";

const TOLERANCE_SECONDS = 300;
/** Lifeboat's own limit: the specification has none. */
const MOST_SIGNATURES = 8;

/** The keys to the endpoints of one cluster. */
export interface Keys {
  readonly webhookToken: string;
  /** The webhook's token by default. */
  readonly operatorToken?: string;
  readonly relaySecret: readonly string[];
}

/** The keys by the name of the cluster. Lifeboat calls the API server of no other cluster. */
export type KeysByCluster = ReadonlyMap<string, Keys>;

interface Asking {
  readonly code: number;
  readonly asked: readonly Asked[];
  readonly now: Date;
  readonly keys: KeysByCluster;
}

/**
 * Returns a problem if an endpoint accepts a caller without the key, or refuses a caller with the key. test/answer/page
 * covers the access to pages.
 */
export function authenticationProblems(
  endpoint: EndpointName,
  request: FuzzedRequest,
  asking: Asking,
): readonly string[] {
  const { key } = CONTRACT[endpoint];
  if (key === "Session") return [];
  if (key === "None")
    return asking.asked.length > 0 ? [`${endpoint}: something was read where nothing is to be had`] : [];
  const [, , cluster = "", , , token] = pathOf(request).split("/").map(decoded);
  const keys = asking.keys.get(cluster);
  const isKnown = keys !== undefined && presents(key, { request, token }, { keys, now: asking.now });
  if (!isKnown) return strangerProblems(endpoint, asking, keys !== undefined);
  return asking.code === 401 ? [`${endpoint}: refused, with what opens it`] : [];
}

function strangerProblems(endpoint: EndpointName, { code, asked }: Asking, isThere: boolean): readonly string[] {
  const read = asked.length > 0 ? [`${endpoint}: something was read for a stranger`] : [];
  const isRight = isThere ? isRefused(CONTRACT[endpoint].key, code) : isUnanswered(endpoint, code);
  return isRight ? read : [...read, `${endpoint}: a stranger got ${code}`];
}

/** A delivery's length is checked before its signature. */
function isRefused(key: Key, code: number): boolean {
  return code === 401 || (key === "Signature" && code === 413);
}

/** If the entry of a cluster is invalid, Lifeboat answers a review before it checks the token. */
function isUnanswered(endpoint: EndpointName, code: number): boolean {
  return code >= 400 || ((endpoint === "evictions" || endpoint === "deletions") && code === 200);
}

interface Presented {
  readonly request: FuzzedRequest;
  /** The last segment of the path. */
  readonly token: string | undefined;
}

function presents(
  key: Exclude<Key, "None" | "Session">,
  { request, token }: Presented,
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
      return (bearerOf(request) ?? token) === keys.webhookToken;
  }
}

/** Accepts one word after the scheme. Two headers arrive as one header with more words, and are refused. */
function bearerOf(request: FuzzedRequest): string | undefined {
  return /^bearer +(?<token>\S+)$/i.exec(headersOf(request).get("authorization") ?? "")?.groups?.["token"];
}

function isSigned(request: FuzzedRequest, secrets: readonly string[], now: Date): boolean {
  const headers = headersOf(request);
  const [id = "", timestamp = "", signature = ""] = ["id", "timestamp", "signature"].map(
    (name) => headers.get(`webhook-${name}`) ?? "",
  );
  const isFresh = Math.abs(now.getTime() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS;
  if (id === "" || !/^\d{1,12}$/.test(timestamp) || !isFresh) return false;
  const right = secrets.map((secret) => signatureOf(textOf(request), id, timestamp, secret));
  return signature.split(" ", MOST_SIGNATURES).some((given) => right.includes(given));
}
