/** GET with watch=true: sends the changes of the selected objects. */
import type { Answer, ResourceContext, WatchSink } from "./context.ts";
import { apiVersionOf } from "./objects.ts";
import { isTrue, readListOptions } from "./options.ts";
import { type Selection, readRevision, readSelection } from "./reading.ts";
import { type Failure, toStatus } from "./status.ts";
import { type StoredObject, parse } from "./store.ts";
import type { Change } from "./watch-log.ts";

const BOOKMARK_INTERVAL_MS = 60_000;
/** The default for timeoutSeconds. The real server chooses a random time between 30 and 60 minutes. */
const DEFAULT_TIMEOUT_SECONDS = 30 * 60;
const INITIAL_EVENTS_END = { "k8s.io/initial-events-end": "true" };

export function handleWatch(ctx: ResourceContext): Answer {
  const { version, initial } = readListOptions(ctx.info.query, "watch");
  const bookmarks = isTrue(ctx.info.query.get("allowWatchBookmarks"));
  const selection = readSelection(ctx);
  const from = readRevision(version);
  return {
    type: "Watch",
    start: (sink) => run(ctx, sink, { selection, from, bookmarks, initial: initial ?? from === 0 }),
  };
}

interface WatchStart {
  readonly selection: Selection;
  readonly from: number;
  /** Whether the watch first sends ADDED events for the existing objects. */
  readonly initial: boolean;
  readonly bookmarks: boolean;
}

async function run(ctx: ResourceContext, sink: WatchSink, start: WatchStart): Promise<void> {
  const { collection, info, signal, state } = ctx;
  const { bookmarks } = start;
  const seconds = Number(info.query.get("timeoutSeconds")) || DEFAULT_TIMEOUT_SECONDS;
  const time = { leftMs: Math.max(0, seconds * 1000), isUp: false };
  const passTime = () => {
    const ms = Math.min(time.leftMs, BOOKMARK_INTERVAL_MS);
    Object.assign(time, { leftMs: time.leftMs - ms, isUp: false });
    return state.setTimer(ms, () => {
      time.isUp = true;
      sink.bell.ring();
    });
  };
  let cancel = passTime();
  const unsubscribe = collection.log.subscribe(sink.bell);
  try {
    for (const awaited of feed(ctx, sink, start)) {
      if (time.isUp && bookmarks && awaited === "Changes") bookmark(ctx, sink, state.store.revision);
      if ((time.isUp && time.leftMs === 0) || signal.aborted) break;
      if (time.isUp) cancel = passTime();
      await sink.bell.heard();
    }
  } finally {
    unsubscribe();
    cancel();
  }
  sink.end();
}

/**
 * Sends events. Yields when the watch must wait for changes or for the client. Returns when the log has dropped a
 * change that was not sent.
 */
function* feed(ctx: ResourceContext, sink: WatchSink, start: WatchStart): Generator<"Changes" | "Client"> {
  const { log } = ctx.collection;
  const { from, initial, selection } = start;
  const current = ctx.state.store.revision;
  // The client gets the error for an invalid revision as an event, because the server has already accepted the watch.
  if (initial && from > current) return sendFailure(sink, { reason: "TooLargeResourceVersion", asked: from, current });
  let seen = initial ? yield* feedPresent(ctx, sink, start) : from || current;
  let change = seen < log.compacted ? "Forgotten" : log.after(seen);
  for (; change !== "Forgotten"; change = log.after(seen)) {
    if (sink.isFull) yield "Client";
    else if (change === undefined) yield "Changes";
    else {
      seen = change.revision;
      send(sink, change, selection);
    }
  }
  sendFailure(sink, { reason: "Expired", message: `too old resource version: ${seen} (${log.compacted})` });
}

function sendFailure(sink: WatchSink, failure: Failure): void {
  sink.sendRaw("ERROR", toStatus(failure));
}

function* feedPresent(ctx: ResourceContext, sink: WatchSink, start: WatchStart): Generator<"Client", number> {
  const { collection, info, state } = ctx;
  const { entries, matches } = start.selection;
  const { revision } = state.store;
  for (const stored of collection.list(info.namespace, entries).filter(matches)) {
    while (sink.isFull) yield "Client";
    sink.send("ADDED", stored);
  }
  if (start.bookmarks) bookmark(ctx, sink, revision, INITIAL_EVENTS_END);
  return revision;
}

/**
 * Sends a change. If the object starts to match the selector, the client gets ADDED. If the object no longer matches,
 * the client gets DELETED with the last matching state.
 */
function send(sink: WatchSink, { type, object, previous, revision }: Change, { matches }: Selection): void {
  const before = previous !== undefined && matches(previous);
  const after = type !== "DELETED" && matches(object);
  if (after) sink.send(before ? "MODIFIED" : "ADDED", object);
  else if (before) sink.send("DELETED", atRevision(previous, revision));
}

function atRevision(stored: StoredObject, revision: number): StoredObject {
  const object = parse(stored);
  object.metadata.resourceVersion = String(revision);
  return { ...stored, revision, json: JSON.stringify(object) };
}

function bookmark({ kind }: ResourceContext, sink: WatchSink, revision: number, annotations?: object): void {
  const metadata = { resourceVersion: String(revision), ...(annotations && { annotations }) };
  sink.sendRaw("BOOKMARK", { kind: kind.kind, apiVersion: apiVersionOf(kind.group, kind.version), metadata });
}
