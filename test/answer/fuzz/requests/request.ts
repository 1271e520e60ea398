/** Describes a raw request before it is sent. */
import { type Json, parsedJson } from "../../../support/json.ts";

export type Header = readonly [name: string, value: string];

export interface FuzzedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

export const ORIGIN = "http://lifeboat.test";

export function hasBody({ method }: FuzzedRequest): boolean {
  return method !== "GET" && method !== "HEAD";
}

/** Omits headers that no HTTP server would accept. */
export function headersOf({ headers }: FuzzedRequest): Headers {
  const sent = new Headers();
  for (const [name, value] of headers) {
    try {
      sent.append(name, value);
    } catch {
      continue;
    }
  }
  return sent;
}

/** Returns the path of the URL. Dot segments are resolved, and percent-encoding is kept. */
export function pathOf({ path }: FuzzedRequest): string {
  return new URL(`${ORIGIN}${path}`).pathname;
}

/**
 * Returns the path as the router sees it. The function decodes percent-encoded text, except slashes and invalid UTF-8.
 */
export function decoded(path: string): string {
  return path.replaceAll(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURI(escapes);
    } catch {
      return escapes;
    }
  });
}

export function platformRequest(request: FuzzedRequest): Request {
  const { method, path, body } = request;
  const sent = hasBody(request) && body !== undefined ? { body } : {};
  return new Request(`${ORIGIN}${path}`, { method, headers: headersOf(request), ...sent });
}

const LONGEST_SHOWN = 4000;

export function shown({ method, path, headers, body }: FuzzedRequest): string {
  const text = typeof body === "string" ? body : body && `base64:${Buffer.from(body).toString("base64")}`;
  const lines = [`${method} ${path}`, ...headers.map((header) => header.join(": ")), "", text ?? ""];
  return lines.map((line) => line.slice(0, LONGEST_SHOWN)).join("\n");
}

/** Returns the body as the server receives it, without lone surrogates and byte order marks. */
export function textOf(request: FuzzedRequest): string {
  const { body } = request;
  if (!hasBody(request) || body === undefined) return "";
  return typeof body === "string" ? body.toWellFormed().replace(/^\uFEFF/, "") : new TextDecoder().decode(body);
}

export function bodyOf(request: FuzzedRequest): Json | undefined {
  return parsedJson(textOf(request));
}
