/**
 * Lists the objects of one kind, and then watches their changes. Stores only a few fields of each object. Limits the
 * bytes of a list and of each event of a watch, because tenants decide the size of their objects. An informer of
 * client-node would store whole objects and have no limits.
 */
import * as z from "zod/mini";
import { ClusterError } from "../../shared/kube/failures.ts";
import { readPages } from "../../shared/kube/read.ts";
import { LARGEST_FACTS } from "../../shared/kube/schemas/bounds.ts";
import type { ApiServer } from "./api-server.ts";
import { backoffMs, type Clock, pause, type Random } from "./clock.ts";
import { type ObjectIdentity, identityIn, type KeptObject, type WatchedKind } from "./kinds.ts";
import { type Log, reasonOf } from "./log.ts";
import { UnreadLine, watchEvents } from "./watch-lines.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

export interface WatchOptions<Facts, View = never> {
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onChange: (now: KeptObject<Facts, View> | undefined, before: KeptObject<Facts, View> | undefined) => void;
  readonly onFailure: () => void;
}

export interface Watched<Facts, View = never> {
  /** Resolves when the first list is complete. */
  readonly synced: Promise<void>;
  isSynced(): boolean;
  /** Returns whether the first list is complete and the watch is open. */
  isCurrent(): boolean;
  get(namespace: string, name: string): KeptObject<Facts, View> | undefined;
  all(): Iterable<KeptObject<Facts, View>>;
  /** Returns the identities of the objects that are too large or malformed. */
  odd(): readonly ObjectIdentity[];
  isOdd(namespace: string, name: string): boolean;
  stop(): void;
}

/** The API server's status code if the resourceVersion of the watch is too old. */
const GONE = 410;
const RESTART = { firstMs: 200, longestMs: 10_000 };
/** The wait, in milliseconds, before the next watch if several watches in a row have ended without any event. */
const RECONNECT_MS = 2_000;
/** A watch is replaced after this time without data. Most kinds send events or bookmarks more often. */
const SILENCE_MS = 30_000;

export function startWatch<Facts, View>(
  kind: WatchedKind<Facts, View>,
  options: WatchOptions<Facts, View>,
): Watched<Facts, View> {
  const { api, clock, random, onChange, onFailure } = options;
  const log: Log = (level, message, details) => options.log(level, message, { watch: kind.name, ...details });
  const known = new Map<string, KeptObject<Facts, View>>();
  const odd = new Map<string, ObjectIdentity>();
  const { promise: synced, resolve: markSynced } = Promise.withResolvers<void>();
  const stopped = new AbortController();
  const { signal } = stopped;
  let [isSynced, isOpen] = [false, false];
  /** The resourceVersion for the next watch. If undefined, the objects are listed first. */
  let version: string | undefined;

  const logOdd = ({ namespace, name }: ObjectIdentity, reason: string) =>
    log("error", MESSAGES.oddObject, { namespace, name, reason });
  const put = (seen: KeptObject<Facts, View>) => {
    const key = keyOf(seen.metadata);
    odd.delete(key);
    const before = known.get(key);
    if (before?.metadata.resourceVersion === seen.metadata.resourceVersion) return;
    if (seen.odd !== undefined && before?.odd === undefined) logOdd(seen.metadata, seen.odd);
    known.set(key, seen);
    onChange(seen, before);
  };
  const remove = (key: string, last = known.get(key)) => {
    odd.delete(key);
    if (known.delete(key)) onChange(undefined, last);
  };
  const putOdd = (identity: ObjectIdentity, reason: string) => {
    const key = keyOf(identity);
    if (!odd.has(key)) logOdd(identity, reason);
    odd.set(key, identity);
    known.delete(key);
  };
  const store = (object: unknown): string | undefined => {
    try {
      const seen = kind.read(object);
      if (seen === undefined) return undefined;
      if (JSON.stringify(seen.facts).length > LARGEST_FACTS) throw new Error("too large");
      put(seen);
      return keyOf(seen.metadata);
    } catch (error) {
      const identity = identityIn(object);
      if (identity === undefined) log("error", MESSAGES.noObject, { reason: reasonOf(error) });
      else putOdd(identity, reasonOf(error));
      return identity && keyOf(identity);
    }
  };

  const list = async () => {
    const { path, labelSelector, fieldSelector } = kind;
    const query = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
    const there = new Set<string>();
    let listed: string | undefined;
    for await (const { items, metadata } of readPages(api.readPage(signal), path, { query })) {
      for (const item of items) there.add(store(item) ?? "");
      listed = metadata.resourceVersion;
    }
    if (listed === undefined) throw new Error(MESSAGES.noVersion);
    for (const key of [...known.keys(), ...odd.keys()]) if (!there.has(key)) remove(key);
    if (!isSynced) log("info", MESSAGES.synced, { objects: known.size });
    isSynced = true;
    markSynced();
    return listed;
  };

  const onError = (object: unknown) => {
    const { code, reason } = Status.safeParse(object).data ?? {};
    log("warn", MESSAGES.watchEnded, { code, reason });
    if (code === GONE) version = undefined;
  };
  const readIfPossible = (object: unknown) => {
    try {
      return kind.read(object);
    } catch {
      return undefined;
    }
  };
  const onObject = (type: string, object: unknown) => {
    if (type === "DELETED") remove(keyIn(object), readIfPossible(object));
    else if (type !== "BOOKMARK") store(object);
    // Ignored objects set the version too, because their changes also increase the resourceVersion.
    version = Versioned.safeParse(object).data?.metadata.resourceVersion;
  };

  /** Watches from this version until the watch ends. Resolves to false if the watch sent no data for too long. */
  const watchFrom = async (resourceVersion: string): Promise<boolean> => {
    const silence = silenceAfter(SILENCE_MS);
    try {
      const body = await openWatch(api, kind, resourceVersion, AbortSignal.any([signal, silence.signal]));
      isOpen = true;
      for await (const { type, object, identity } of watchEvents(body, silence.interrupt)) {
        if (type === "ERROR") onError(object);
        else if (identity === undefined) onObject(type, object);
        else {
          if (type === "DELETED") remove(keyOf(identity));
          else putOdd(identity, MESSAGES.largeEvent);
          version = identity.resourceVersion;
        }
      }
      return true;
    } catch (error) {
      if (isOpen && silence.signal.aborted) return false;
      if (error instanceof UnreadLine) version = undefined;
      throw error;
    } finally {
      isOpen = false;
      silence.end();
    }
  };

  let [failures, silent, since] = [0, 0, 0];
  const ended = async (isSilent: boolean) => {
    silent = isSilent ? silent + 1 : 0;
    if (silent > 1) await pause(clock, RECONNECT_MS, signal);
  };
  const failed = async (error: unknown) => {
    const hasLasted = since > 0 && clock.now().getTime() - since > RESTART.longestMs;
    const isGone = since > 0 && codeOf(error) === GONE;
    since = 0;
    if (isGone) {
      version = undefined;
      return await ended(true);
    }
    failures = hasLasted ? 1 : failures + 1;
    const ms = backoffMs(RESTART, failures, random);
    log("warn", MESSAGES.watchFailed, { reason: reasonOf(error), failures, inMs: Math.round(ms) });
    onFailure();
    await pause(clock, ms, signal);
  };

  const run = async () => {
    while (!signal.aborted) {
      try {
        const from = (version ??= await list());
        since = clock.now().getTime();
        const isClosed = await watchFrom(from);
        await ended(isClosed && (version ?? from) === from);
      } catch (error) {
        if (!signal.aborted) await failed(error);
      }
    }
  };
  void run();

  return {
    synced,
    isSynced: () => isSynced,
    isCurrent: () => isSynced && isOpen,
    get: (namespace, name) => known.get(`${namespace}/${name}`),
    all: () => known.values(),
    odd: () => [...odd.values()],
    isOdd: (namespace, name) => odd.has(`${namespace}/${name}`),
    stop: () => stopped.abort(),
  };
}

const Versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const Status = z.object({ code: z.optional(z.number()), reason: z.optional(z.string()) });

async function openWatch(
  { endpoint }: ApiServer,
  { path, labelSelector, fieldSelector }: Pick<WatchedKind<unknown>, "path" | "labelSelector" | "fieldSelector">,
  resourceVersion: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const selectors = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
  const query = new URLSearchParams({ ...selectors, watch: "true", allowWatchBookmarks: "true", resourceVersion });
  const url = `${endpoint.server}${path}?${query.toString()}`;
  const { status, body } = await endpoint.fetch(url, { headers: { accept: "application/json" }, signal });
  if (status === 200 && body !== null) return body;
  await body?.cancel();
  throw new ClusterError({ reason: "Refused", code: status, request: MESSAGES.watchOf(path) });
}

function silenceAfter(ms: number) {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), ms).unref();
  return { signal: silence.signal, interrupt: () => void timer.refresh(), end: () => clearTimeout(timer) };
}

function keyIn(object: unknown): string {
  const identity = identityIn(object);
  return identity === undefined ? "" : keyOf(identity);
}

function keyOf({ namespace = "", name }: ObjectIdentity): string {
  return `${namespace}/${name}`;
}

function codeOf(error: unknown): number | undefined {
  return error instanceof ClusterError && error.failure.reason === "Refused" ? error.failure.code : undefined;
}
