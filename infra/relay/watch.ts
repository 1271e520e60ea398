/**
 * Watches one kind until stopped: lists it, then follows its changes from there. Of each object only the few facts are kept.
 *
 * Lists are plain JSON, page by page: client-node's models cost time to build, and turn timestamps into dates, which a watch does not.
 * Its informer keeps whole objects.
 */
import {
  HttpMethod,
  IsomorphicFetchHttpLibrary,
  type KubeConfig,
  RequestContext,
  Watch,
} from "@kubernetes/client-node";
import * as z from "zod/mini";
import { backoffMs, type Clock, pause, type Random } from "./clock.ts";
import type { Identity, Seen, WatchedKind } from "./kinds.ts";
import { type Log, reasonOf } from "./log.ts";

export interface WatchOptions<Facts, View = never> {
  readonly kubeConfig: KubeConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onChange: (now: Seen<Facts, View> | undefined, before: Seen<Facts, View> | undefined) => void;
  readonly onFailure: () => void;
}

export interface Watched<Facts, View = never> {
  /** Resolves once the first list is complete. */
  readonly synced: Promise<void>;
  isSynced(): boolean;
  /** And changes are shown as they happen: its watch is open. */
  isCurrent(): boolean;
  get(namespace: string, name: string): Seen<Facts, View> | undefined;
  all(): Iterable<Seen<Facts, View>>;
  stop(): void;
}

/** The API server has forgotten that version. */
const GONE = 410;
const RESTART = { firstMs: 200, longestMs: 10_000 };
/** Where watches end one after the other and bring nothing. */
const RECONNECT_MS = 2_000;

export function startWatch<Facts, View>(
  kind: WatchedKind<Facts, View>,
  options: WatchOptions<Facts, View>,
): Watched<Facts, View> {
  const { kubeConfig, clock, random, onChange, onFailure } = options;
  const log: Log = (level, message, details) => options.log(level, message, { watch: kind.name, ...details });
  const read = createReader(kind, log);
  const known = new Map<string, Seen<Facts, View>>();
  const { promise: synced, resolve: markSynced } = Promise.withResolvers<void>();
  const stopped = new AbortController();
  const { signal } = stopped;
  let request: AbortController | undefined;
  let [isSynced, isOpen] = [false, false];
  /** From where to watch; undefined: from a new list. */
  let version: string | undefined;

  const put = (seen: Seen<Facts, View>) => {
    const before = known.get(keyOf(seen.metadata));
    if (before?.metadata.resourceVersion === seen.metadata.resourceVersion) return;
    known.set(keyOf(seen.metadata), seen);
    onChange(seen, before);
  };
  const remove = (seen: Seen<Facts, View>) => {
    if (known.delete(keyOf(seen.metadata))) onChange(undefined, seen);
  };

  const list = async () => {
    const { items, resourceVersion } = await listPages(kubeConfig, { ...kind, read }, signal);
    const there = new Set(items.map(({ metadata }) => keyOf(metadata)));
    for (const [key, seen] of known) if (!there.has(key)) remove(seen);
    items.forEach(put);
    if (!isSynced) log("info", "synced", { objects: known.size });
    isSynced = true;
    markSynced();
    return resourceVersion;
  };

  const onEvent = (phase: string, object: unknown) => {
    const { metadata, code, reason } = Versioned.safeParse(object).data ?? {};
    if (phase === "ERROR") {
      log("warn", "the API server ended a watch", { code, reason });
      if (code === GONE) version = undefined;
      return;
    }
    const seen = phase === "BOOKMARK" ? undefined : read(object);
    if (seen !== undefined) (phase === "DELETED" ? remove : put)(seen);
    // Also by an object that is ignored.
    version = metadata?.resourceVersion;
  };

  /** Resolves when the watch has ended; to false if it was only silent for too long. */
  const watchFrom = async (resourceVersion: string): Promise<boolean> => {
    const { path, labelSelector, fieldSelector } = kind;
    const query = { labelSelector, fieldSelector, resourceVersion, allowWatchBookmarks: true };
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const onEnd = (error: unknown) => {
      // Silence: of one that never opened it is a failure.
      const isSilent = isOpen && error instanceof Error && error.name === "TimeoutError";
      if (error instanceof Error && !isSilent) reject(error);
      else resolve(!isSilent);
    };
    request = await new Watch(kubeConfig).watch(path, query, onEvent, onEnd);
    // It could not be aborted while it was being opened.
    if (signal.aborted) request.abort();
    isOpen = true;
    return await promise.finally(() => (isOpen = false));
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
    log("warn", "cannot watch, trying again", { reason: reasonOf(error), failures, inMs: Math.round(ms) });
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
    stop() {
      stopped.abort();
      request?.abort();
    },
  };
}

const Versioned = z.object({
  metadata: z.optional(z.object({ resourceVersion: z.optional(z.string()) })),
  code: z.optional(z.number()),
  reason: z.optional(z.string()),
});

function keyOf({ namespace = "", name }: Identity): string {
  return `${namespace}/${name}`;
}

/** Of an error of client-node. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
}

/** Leaves out, and logs, an object that is not as expected: it hides no other one. */
export function createReader<Facts, View>(
  { read }: Pick<WatchedKind<Facts, View>, "read">,
  log: Log,
): WatchedKind<Facts, View>["read"] {
  return (object) => {
    try {
      return read(object);
    } catch (error) {
      log("error", "left out an object that is not as expected", { reason: reasonOf(error) });
      return undefined;
    }
  };
}

const [PAGE, PAGE_TIMEOUT_MS] = [250, 60_000];

const Page = z.object({
  kind: z.string().check(z.endsWith("List")),
  metadata: z.object({ resourceVersion: z.string(), continue: z.optional(z.string()) }),
  items: z.nullish(z.array(z.unknown())),
});

async function listPages<Facts, View>(
  kubeConfig: KubeConfig,
  { path, labelSelector, fieldSelector, read }: Omit<WatchedKind<Facts, View>, "notice">,
  signal: AbortSignal,
): Promise<{ readonly items: readonly Seen<Facts, View>[]; readonly resourceVersion: string }> {
  const items: Seen<Facts, View>[] = [];
  const selectors = { ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) };
  for (let next: string | undefined; ;) {
    const query = new URLSearchParams({ ...selectors, limit: String(PAGE), ...(next && { continue: next }) });
    const page = Page.parse(await get(kubeConfig, `${path}?${query.toString()}`, signal));
    items.push(...(page.items ?? []).flatMap((object) => read(object) ?? []));
    next = page.metadata.continue;
    if (!next) return { items, resourceVersion: page.metadata.resourceVersion };
  }
}

async function get(kubeConfig: KubeConfig, path: string, signal: AbortSignal): Promise<unknown> {
  const server = kubeConfig.getCurrentCluster()?.server;
  if (server === undefined) throw new Error("the kubeconfig names no current cluster");
  const request = new RequestContext(server + path, HttpMethod.GET);
  request.setHeaderParam("Accept", "application/json");
  request.setSignal(AbortSignal.any([signal, AbortSignal.timeout(PAGE_TIMEOUT_MS)]));
  await kubeConfig.applySecurityAuthentication(request);
  const response = await new IsomorphicFetchHttpLibrary().send(request).toPromise();
  const text = await response.body.text();
  if (response.httpStatusCode !== 200) throw new Error(`HTTP ${response.httpStatusCode}`);
  return JSON.parse(text);
}
