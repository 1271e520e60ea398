/** Handles every request: authentication, impersonation, authorization, and the answer. */
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { authenticate } from "./authentication.ts";
import { authorize } from "./authorization.ts";
import type { Answer, RequestContext, ServerState, WatchSink } from "./context.ts";
import { type Effect, failWith } from "./faults.ts";
import { impersonate } from "./impersonation.ts";
import { type Representation, negotiate } from "./negotiation.ts";
import { Renderer } from "./representation.ts";
import { stringAt } from "./objects.ts";
import { readRequest } from "./request-info.ts";
import { dispatch } from "./routes.ts";
import { type Failure, RequestFailure, fail, toStatus } from "./status.ts";
import { Bell } from "./watch-log.ts";

const BODY_LIMIT = 3 * 1024 * 1024;

/** Handles a request. The promise never rejects, because an error must not affect other clients. */
export async function handleRequest(
  state: ServerState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const aborted = new AbortController();
  response.on("close", () => aborted.abort()).on("error", () => response.destroy());
  // The real server does not send a Keep-Alive header. Node sends it only together with a Connection header.
  response.removeHeader("connection");
  const warnings: string[] = [];
  try {
    const ctx = await readContext(state, request, { signal: aborted.signal, warnings });
    const effects = state.faults.draw(ctx.info, ctx.user);
    await suffer(effects, ctx, response);
    const representation = ctx.info.isResource ? negotiate(ctx.headers.accept) : "Object";
    const answer = await dispatch(ctx);
    spoil(effects, response);
    await write(response, { ctx, answer, representation });
  } catch (error) {
    try {
      writeFailure(response, error, warnings);
    } catch (bug) {
      // Node.js cannot send some answers, for example if a webhook returns an invalid status code.
      writeFailure(response, bug, []);
    }
  }
}

/** Injects the faults that happen before the request is performed. */
async function suffer(effects: readonly Effect[], ctx: RequestContext, response: ServerResponse): Promise<void> {
  for (const effect of effects) {
    if (effect.type === "Latency") await delay(effect.milliseconds);
    else if (effect.type === "Error") failWith(effect, ctx.info);
    else if (effect.type === "ConnectionReset") response.destroy();
    if (response.destroyed) fail({ reason: "ServiceUnavailable", message: "the connection is gone" });
  }
}

/**
 * Injects the faults that break the connection before the answer, during the answer, or between the events of a watch.
 */
function spoil(effects: readonly Effect[], response: ServerResponse): void {
  for (const effect of effects) {
    if (effect.type === "LostAnswer") response.destroy();
    if (effect.type === "TruncatedBody") breakAfter(response, { writes: 1, part: 0.5 });
    if (effect.type === "DroppedWatch") breakAfter(response, { writes: effect.afterEvents, part: 1 });
  }
}

/** Breaks the connection after this many writes. Sends only the fraction `part` of the last write. */
function breakAfter(response: ServerResponse, { writes, part }: { writes: number; part: number }): void {
  let left = writes;
  const write = response.write.bind(response);
  const end = response.end.bind(response);
  const limited = (chunk: string): boolean => {
    left -= 1;
    if (left > 0) return write(chunk);
    return write(chunk.slice(0, Math.ceil(chunk.length * part)), () => response.destroy());
  };
  const ended = (chunk?: string) => (chunk === undefined ? end() : limited(chunk));
  Object.assign(response, { write: limited, end: ended });
  if (left === 0) response.destroy();
}

async function readContext(
  state: ServerState,
  request: IncomingMessage,
  rest: Pick<RequestContext, "signal" | "warnings">,
): Promise<RequestContext> {
  const { headers, method = "GET", url = "/" } = request;
  const body = await readBody(request);
  const caller = authenticate(state, headers);
  const info = readRequest(method, url);
  const user = impersonate(state, caller, headers);
  authorize(state, user, info);
  return { state, info, user, headers, body, ...rest };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= BODY_LIMIT) chunks.push(chunk);
  }
  return size <= BODY_LIMIT ? Buffer.concat(chunks) : fail({ reason: "RequestEntityTooLarge", limit: BODY_LIMIT });
}

function unexpected(error: unknown): Failure {
  console.error(error);
  return { reason: "InternalError", message: error instanceof Error ? error.message : String(error) };
}

interface Reply {
  readonly ctx: RequestContext;
  readonly answer: Answer;
  readonly representation: Representation;
}

const JSON_TYPE = "application/json";

async function write(response: ServerResponse, { ctx, answer, representation }: Reply): Promise<void> {
  for (const warning of ctx.warnings) response.appendHeader("warning", warningHeader(warning));
  switch (answer.type) {
    case "Text":
      return end(response, answer.code, "text/plain; charset=utf-8", answer.text);
    case "Document":
      return end(response, answer.code, answer.contentType ?? JSON_TYPE, JSON.stringify(answer.body));
    case "Object":
      return end(response, answer.code, JSON_TYPE, rendererFor(ctx, representation).object(answer.object));
    case "List":
      return writeList(response, rendererFor(ctx, representation).list(answer.items, answer.metadata), ctx.signal);
    case "Watch":
      response.writeHead(200, { "content-type": JSON_TYPE, "cache-control": "no-cache, private" });
      response.flushHeaders();
      return answer.start(sinkOf(response, rendererFor(ctx, representation)));
  }
}

function rendererFor(ctx: RequestContext, representation: Representation): Renderer {
  const { info } = ctx;
  const kind = info.isResource ? ctx.state.kinds.find(info.group, info.version, info.resource) : undefined;
  if (kind === undefined) throw new Error(`the path ${info.path} has no kind that describes how to render the answer`);
  const includeObject = info.query.get("includeObject") || "Metadata";
  return new Renderer({ kind, as: representation, now: ctx.state.now, includeObject });
}

function end(response: ServerResponse, code: number, contentType: string, text: string): void {
  response.writeHead(code, { "content-type": contentType, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

async function writeList(response: ServerResponse, parts: Iterable<string>, signal: AbortSignal): Promise<void> {
  response.writeHead(200, { "content-type": JSON_TYPE });
  let pending = "";
  for (const part of parts) {
    pending += part;
    if (pending.length < 256 * 1024) continue;
    const flushed = response.write(pending);
    pending = "";
    if (!flushed) await once(response, "drain", { signal });
  }
  response.end(pending);
}

function sinkOf(response: ServerResponse, renderer: Renderer): WatchSink {
  const bell = new Bell();
  response.on("drain", bell.ring).on("close", bell.ring);
  return {
    bell,
    get isFull() {
      return response.destroyed || response.writableNeedDrain;
    },
    send: (type, stored) => void response.write(renderer.event(type, stored)),
    sendRaw: (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`),
    end: () => void response.end(),
  };
}

function writeFailure(response: ServerResponse, error: unknown, warnings: readonly string[]): void {
  if (response.destroyed) return;
  const failure = error instanceof RequestFailure ? error.failure : unexpected(error);
  if (response.headersSent) return void response.destroy();
  for (const warning of warnings) response.appendHeader("warning", warningHeader(warning));
  const status = toStatus(failure);
  const retryAfter = stringAt(status, "details.retryAfterSeconds");
  if (retryAfter !== "" && retryAfter !== "0") response.setHeader("retry-after", retryAfter);
  if (failure.reason === "PageNotFound") return end(response, 404, "text/plain; charset=utf-8", "404 page not found\n");
  end(response, status.code, JSON_TYPE, JSON.stringify(status));
}

function warningHeader(text: string): string {
  const printable = text.replaceAll(/[^\x20-\x7e]/g, " ");
  return `299 - "${printable.replaceAll(/["\\]/g, "\\$&")}"`;
}
