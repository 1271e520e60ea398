/**
 * GET with watch=true: the changes to a selected part of a collection, as they happen.
 * Owns: where a watch starts, how selectors turn changes into ADDED and DELETED, bookmarks, its end.
 * Does not own: the log of changes (watch-log.ts), how events look (representation.ts).
 */
import type { Answer, ResourceContext, WatchSink } from "./context.ts";
import { apiVersionOf } from "./objects.ts";
import { type Selection, readRevision, readSelection } from "./reading.ts";
import { isTrue } from "./request-info.ts";
import { badRequest, fail, toStatus } from "./status.ts";
import type { Change } from "./watch-log.ts";

const BOOKMARK_INTERVAL_MS = 60_000;
/** The real server picks at random between 30 and 60 minutes. */
const DEFAULT_TIMEOUT_SECONDS = 30 * 60;
const INITIAL_EVENTS_END = { "k8s.io/initial-events-end": "true" };

export function handleWatch(ctx: ResourceContext): Answer {
  const { query } = ctx.info;
  const selection = readSelection(ctx);
  const from = readRevision(query.get("resourceVersion"));
  const current = ctx.state.store.revision;
  const initial = readInitialEvents(query, from);
  if (from > current) return fail({ reason: "TooLargeResourceVersion", asked: from, current });
  return { type: "Watch", start: (sink) => run(ctx, sink, { selection, from, initial }) };
}

/** sendInitialEvents asks for the present state as ADDED events, closed by a bookmark. */
function readInitialEvents(query: URLSearchParams, from: number): "none" | "events" | "events and bookmark" {
  const asked = query.get("sendInitialEvents");
  if (asked === null) return from === 0 ? "events" : "none";
  if (query.get("resourceVersionMatch") !== "NotOlderThan") {
    badRequest(
      "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  }
  return isTrue(asked) ? "events and bookmark" : "none";
}

interface WatchStart {
  readonly selection: Selection;
  readonly from: number;
  readonly initial: "none" | "events" | "events and bookmark";
}

function run(ctx: ResourceContext, sink: WatchSink, { selection, from, initial }: WatchStart): void {
  const { collection, info, signal, state } = ctx;
  const bookmarks = isTrue(info.query.get("allowWatchBookmarks"));
  const deliver = (change: Change): void => send(sink, change, selection);
  if (initial === "none") {
    const missed = collection.log.since(from === 0 ? state.store.revision : from);
    if (missed === undefined) return tooOld(sink, from, collection.log.compacted);
    missed.forEach(deliver);
  } else {
    const present = collection.list(info.namespace, selection.entries).filter(selection.matches);
    for (const stored of present) sink.send("ADDED", stored);
    if (initial === "events and bookmark" && bookmarks) bookmark(ctx, sink, INITIAL_EVENTS_END);
  }
  const unsubscribe = collection.log.subscribe(deliver);
  const seconds = Number(info.query.get("timeoutSeconds") || DEFAULT_TIMEOUT_SECONDS);
  const ticking = setInterval(() => bookmarks && bookmark(ctx, sink), BOOKMARK_INTERVAL_MS);
  const ending = setTimeout(() => {
    if (bookmarks) bookmark(ctx, sink);
    sink.end();
  }, seconds * 1000);
  signal.addEventListener("abort", () => {
    unsubscribe();
    clearInterval(ticking);
    clearTimeout(ending);
  });
}

/** An object that begins to match is new to this client, one that stops matching is gone for it. */
function send(sink: WatchSink, { type, object, previous }: Change, { matches }: Selection): void {
  const before = previous !== undefined && matches(previous);
  const after = type !== "DELETED" && matches(object);
  if (before && after) sink.send("MODIFIED", object);
  else if (after) sink.send("ADDED", object);
  else if (before) sink.send("DELETED", object);
}

function bookmark(ctx: ResourceContext, sink: WatchSink, annotations?: Readonly<Record<string, string>>): void {
  const { kind, state } = ctx;
  sink.sendRaw("BOOKMARK", {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind.group, kind.version),
    metadata: {
      resourceVersion: String(state.store.revision),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    },
  });
}

function tooOld(sink: WatchSink, from: number, compacted: number): void {
  sink.sendRaw("ERROR", toStatus({ reason: "Expired", message: `too old resource version: ${from} (${compacted})` }));
  sink.end();
}
