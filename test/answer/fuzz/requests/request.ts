/** A request as it is about to be sent: as raw as the platform lets it be. */
import { type Json, parsedJson } from "../../../support/json.ts";

export type Header = readonly [name: string, value: string];

export interface FuzzedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: readonly Header[];
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

export const ORIGIN = "http://lifeboat.test";

/** Methods that a platform never hands to a Worker, and those that have no body. */
const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

export function hasBody({ method }: FuzzedRequest): boolean {
  return !BODILESS.has(method);
}

/** Headers that no HTTP server would let through are left out. */
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

/** As a URL has it: dots are resolved, escapes are not. */
export function pathOf({ path }: FuzzedRequest): string {
  return new URL(`${ORIGIN}${path}`).pathname;
}

export function platformRequest(request: FuzzedRequest): Request {
  const { method, path, body } = request;
  const sent = hasBody(request) && body !== undefined ? { body } : {};
  return new Request(`${ORIGIN}${path}`, { method, headers: headersOf(request), ...sent });
}

const LONGEST_SHOWN = 4000;

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** For a shell, if it is not too long for one. */
export function asCurl(request: FuzzedRequest): string {
  const { method, path, headers, body } = request;
  const shown = headers.map(([name, value]) => `  -H ${quoted(`${name}: ${cut(value)}`)}`);
  const text = typeof body === "string" ? body : body && `base64:${Buffer.from(body).toString("base64")}`;
  return [
    `curl -X ${method} ${quoted(cut(`$LIFEBOAT${path}`))}`,
    ...shown,
    ...(text === undefined ? [] : [`  --data-binary ${quoted(cut(text))}`]),
  ].join(" \\\n");
}

function cut(text: string): string {
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}… (${text.length} characters)`;
}

/** As it arrives: half a character cannot, and a byte order mark is no text's first letter. */
export function textOf(request: FuzzedRequest): string {
  const { body } = request;
  if (!hasBody(request) || body === undefined) return "";
  return typeof body === "string" ? body.toWellFormed().replace(/^\uFEFF/, "") : new TextDecoder().decode(body);
}

export function bodyOf(request: FuzzedRequest): Json | undefined {
  return parsedJson(textOf(request));
}
