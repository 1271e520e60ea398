/** Checks that each endpoint accepts exactly the callers with the credentials that contract.ts requires. */
import type { Asked } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type EndpointName, type Key } from "./contract.ts";
import { signatureOf } from "./requests/credentials.ts";
import { decoded, type FuzzedRequest, headersOf, pathOf, textOf } from "./requests/request.ts";

const TOLERANCE_SECONDS = 300;
/** Lifeboat checks at most this number of signatures of a delivery. Standard Webhooks has no limit. */
const MOST_SIGNATURES = 8;

export interface Keys {
  readonly webhookToken: string;
  /** The default is the webhook's token. */
  readonly operatorToken?: string;
  readonly relaySecret: readonly string[];
}

/** The credentials for the endpoints of each cluster. Lifeboat must not call any API server that is not in this map. */
export type KeysByCluster = ReadonlyMap<string, Keys>;

interface Asking {
  readonly code: number;
  readonly asked: readonly Asked[];
  readonly now: Date;
  readonly keys: KeysByCluster;
}

/**
 * Returns a problem if an endpoint accepts a caller without the key, or refuses a caller with the key. test/answer/page
 * tests the access to pages.
 */
export function authenticationProblems(
  endpoint: EndpointName,
  request: FuzzedRequest,
  asking: Asking,
): readonly string[] {
  const { key } = CONTRACT[endpoint];
  if (key === "Session") return [];
  if (key === "None")
    return asking.asked.length > 0
      ? [`${endpoint}: Lifeboat sent a request to a cluster, although the endpoint is public`]
      : [];
  const [, , cluster = "", , , token] = pathOf(request).split("/").map(decoded);
  const keys = asking.keys.get(cluster);
  const isKnown = keys !== undefined && presents(key, { request, token }, { keys, now: asking.now });
  if (!isKnown) return strangerProblems(endpoint, asking, keys !== undefined);
  return asking.code === 401 ? [`${endpoint}: a caller with a valid key got 401`] : [];
}

function strangerProblems(endpoint: EndpointName, { code, asked }: Asking, isThere: boolean): readonly string[] {
  const read =
    asked.length > 0 ? [`${endpoint}: Lifeboat sent a request to a cluster for a caller without a valid key`] : [];
  const isRight = isThere ? isRefused(CONTRACT[endpoint].key, code) : isUnanswered(code);
  return isRight ? read : [...read, `${endpoint}: a caller without a valid key got ${code}`];
}

/**
 * Returns true if Lifeboat refused the caller. For a delivery, 413 also counts, because Lifeboat checks the length
 * before the signature.
 */
function isRefused(key: Key, code: number): boolean {
  return code === 401 || (key === "Signature" && code === 413);
}

/**
 * Returns true if the answer is valid for a cluster without a valid entry. Lifeboat then answers before it checks the
 * token or reads a review.
 */
function isUnanswered(code: number): boolean {
  return code >= 400;
}

interface Presented {
  readonly request: FuzzedRequest;
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

/**
 * Returns the bearer token. Two Authorization headers arrive as one header with several words, which Lifeboat refuses.
 */
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
