/** Sends requests to an API server with `fetch`, and limits the memory for its answers. */
import { ClusterError } from "./failures.ts";

/** The global `fetch`, or the `fetch` of a Worker's binding to a private network. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Endpoint {
  readonly server: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetch: Fetch;
}

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /**
   * The body. Without `contentType`, a list in a PATCH is sent as a JSON patch, and any other body as a merge patch.
   */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly expect?: readonly number[];
  /** Whether the caller needs only the code. */
  readonly codeOnly?: boolean;
}

export interface ApiAnswer {
  readonly code: number;
  /** The parsed JSON. Lifeboat must not forward it to its own clients. */
  readonly body: unknown;
  readonly bytes: number;
}

export type Send = (request: ApiRequest) => Promise<ApiAnswer>;

/**
 * The maximum size of an answer in bytes. For a short time, an answer takes four times its size in memory. A Workers
 * isolate has 128 MB of memory.
 */
export const LARGEST_ANSWER_BYTES = 10 * 1024 * 1024;

export type Hold = () => Held;

const HOLD_ANY: Hold = () => ({ take: () => true, end: () => undefined });
const NOT_SERVED = "404 page not found\n";

export function sender(endpoint: Endpoint, signal: AbortSignal, hold = HOLD_ANY): Send {
  return async (request) => {
    const held = hold();
    try {
      return await answerTo(endpoint, request, signal, held);
    } finally {
      held.end();
    }
  };
}

async function answerTo(endpoint: Endpoint, request: ApiRequest, signal: AbortSignal, held: Held): Promise<ApiAnswer> {
  const label = `${request.method} ${request.path}`;
  const { status, text, bytes } = await exchange(endpoint, request, signal, held);
  if (text === undefined) throw new ClusterError({ reason: "TooLarge", request: label });
  if (status >= 300 && (!request.expect?.includes(status) || text === NOT_SERVED)) {
    throw new ClusterError({ reason: "Refused", code: status, request: label });
  }
  return { code: status, body: request.codeOnly ? undefined : bodyOf(text, status, request), bytes };
}

function bodyOf(text: string, status: number, request: ApiRequest): unknown {
  const label = `${request.method} ${request.path}`;
  const body = parse(text, label);
  // Without this check, a proxy's 404 would be treated as a deleted object.
  if (status >= 400 && !isStatus(body, status)) {
    throw new ClusterError({ reason: "Unintelligible", request: label, issue: `${status}, but no Status` });
  }
  return body;
}

/**
 * Sends a request. A read is repeated once, because an idle connection can close while a request uses it. A write is
 * not repeated, because the API server might have performed it.
 */
async function exchange(endpoint: Endpoint, request: ApiRequest, signal: AbortSignal, held: Held) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(request.query ?? {})) if (value !== undefined) query.append(key, value);
  const url = `${endpoint.server}${request.path}${query.size === 0 ? "" : `?${query.toString()}`}`;
  const attempt = async () => {
    const response = await endpoint.fetch(url, {
      method: request.method,
      headers: headersOf(endpoint, request),
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      redirect: "manual",
      signal,
    });
    return { status: response.status, ...(await readBody(response, held)) };
  };
  try {
    return await attempt().catch((error: unknown) => {
      if (request.method !== "GET" || signal.aborted || error instanceof ClusterError) throw error;
      return attempt();
    });
  } catch (cause) {
    if (cause instanceof ClusterError) throw cause;
    throw new ClusterError({ reason: signal.aborted ? "DeadlineExceeded" : "Unreachable" }, { cause });
  }
}

/** The size of a chunk in bytes. With larger chunks, reading a single object is more expensive. */
const CHUNK_BYTES = 32 * 1024;

/**
 * Reads a body. Returns no text if the body is too large. All chunks are read into one buffer of CHUNK_BYTES, which is
 * faster than workerd's default chunks of 4 KiB.
 */
async function readBody({ body }: Response, held: Held): Promise<{ readonly text?: string; readonly bytes: number }> {
  if (body === null) return { text: "", bytes: 0 };
  const reader = body.getReader({ mode: "byob" });
  const decoder = new TextDecoder();
  let [text, bytes, memory] = ["", 0, new ArrayBuffer(CHUNK_BYTES)];
  try {
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(memory));
      if (done) return { text: text + decoder.decode(), bytes };
      bytes += value.byteLength;
      if (bytes > LARGEST_ANSWER_BYTES) return { bytes };
      if (!held.take(value.byteLength)) throw new ClusterError({ reason: "Busy" });
      text += decoder.decode(value, { stream: true });
      memory = value.buffer;
    }
  } finally {
    await reader.cancel();
  }
}

function headersOf({ token, headers }: Endpoint, request: ApiRequest): Record<string, string> {
  return {
    ...headers,
    // client-go sends the same header. Without `*/*`, virt-api's subresources answer 406.
    accept: "application/json, */*",
    authorization: `Bearer ${token}`,
    "user-agent": "lifeboat",
    ...(request.body === undefined ? {} : { "content-type": contentTypeOf(request) }),
  };
}

function contentTypeOf({ method, body, contentType }: ApiRequest): string {
  if (contentType !== undefined) return contentType;
  if (method !== "PATCH") return "application/json";
  return Array.isArray(body) ? "application/json-patch+json" : "application/merge-patch+json";
}

function isStatus(body: unknown, code: number): boolean {
  if (typeof body !== "object" || body === null || !("kind" in body) || !("code" in body)) return false;
  return body.kind === "Status" && body.code === code;
}

function parse(text: string, label: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ClusterError({ reason: "Unintelligible", request: label, issue: "not JSON" }, { cause });
  }
}

/** The memory limit for all reviews together, in bytes. The review of an eviction usually takes 60 KB. */
export const MOST_BYTES = 24 * 1024 * 1024;

/** The maximum number of parallel reviews. A drain can evict all pods of a node at once. */
export const MOST_REVIEWS = 250;

/**
 * A reservation ends after this time, because the platform can stop a review before the review ends its reservation. No
 * review takes longer.
 */
const LONGEST_MS = 60_000;

export interface Held {
  /** Reserves memory. Returns false if the limit is reached. */
  take(bytes: number): boolean;
  end(): void;
}

const REFUSED: Held = { take: () => false, end: () => undefined };

interface Lease {
  readonly until: number;
  readonly reviews: number;
  bytes: number;
}

export class MemoryBudget {
  readonly #leases = new Set<Lease>();
  #reviews = 0;
  #bytes = 0;

  openReview(now: Date): Held {
    return this.#reviews < MOST_REVIEWS ? this.#open(now, MOST_BYTES, 1) : REFUSED;
  }

  /** Reserves memory for the reconcile after a review. */
  open(now: Date): Held {
    return this.#open(now, MOST_BYTES);
  }

  /** Reserves memory for all other work. This reservation is never refused, because no tenant decides its size. */
  count(now: Date): Held {
    return this.#open(now, Infinity);
  }

  #open(now: Date, most: number, reviews = 0): Held {
    for (const lease of this.#leases) {
      if (lease.until > now.getTime()) break;
      this.#end(lease);
    }
    const lease: Lease = { until: now.getTime() + LONGEST_MS, reviews, bytes: 0 };
    this.#leases.add(lease);
    this.#reviews += reviews;
    return {
      take: (bytes) => {
        if (!this.#leases.has(lease)) return most === Infinity;
        if (this.#bytes + bytes > most && !this.#isOldestReview(lease)) return false;
        this.#bytes += bytes;
        lease.bytes += bytes;
        return true;
      },
      end: () => this.#end(lease),
    };
  }

  /**
   * Returns whether this review is the oldest review. The oldest review may always continue, so that reviews do not
   * wait for each other forever.
   */
  #isOldestReview(lease: Lease): boolean {
    for (const one of this.#leases) if (one.reviews > 0) return one === lease;
    return false;
  }

  #end(lease: Lease): void {
    if (!this.#leases.delete(lease)) return;
    this.#reviews -= lease.reviews;
    this.#bytes -= lease.bytes;
  }
}
