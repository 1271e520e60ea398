/** Watches one kind until stopped: client-node's informer, holding only the few facts we keep of each object. */
import { type KubeConfig, ListWatch, Watch } from "@kubernetes/client-node";
import { backoffMs, type Random } from "./backoff.ts";
import { type Clock, pause } from "./clock.ts";
import { listPages } from "./list.ts";
import { type Log, reasonOf } from "./log.ts";
import type { Seen, WatchedKind } from "./watched/kind.ts";

export interface WatchOptions<Facts> {
  readonly kubeConfig: KubeConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onChange: (now: Seen<Facts> | undefined, before: Seen<Facts> | undefined) => void;
  readonly onFailure: () => void;
}

export interface Watched<Facts> {
  /** Resolves once the first list is complete. */
  readonly synced: Promise<void>;
  isSynced(): boolean;
  get(namespace: string, name: string): Seen<Facts> | undefined;
  list(namespace: string): readonly Seen<Facts>[];
  stop(): void;
}

const RESTART = { firstMs: 200, longestMs: 10_000 };
/** client-node waits up to 30 s after a watch that ended without an error: too long for a disruption. */
const LONGEST_RECONNECT_MS = 2_000;

export function startWatch<Facts>(kind: WatchedKind<Facts>, options: WatchOptions<Facts>): Watched<Facts> {
  const { kubeConfig, clock, random, onChange, onFailure } = options;
  const log: Log = (level, message, details) => options.log(level, message, { watch: kind.name, ...details });
  const stopped = new AbortController();
  const { promise: synced, resolve: markSynced } = Promise.withResolvers<void>();
  let isSynced = false;
  let failures = 0;
  let watchingSince = 0;

  const read = createReader(kind, log);
  const watch = new ProjectingWatch(kubeConfig, {
    read,
    isStopped: () => stopped.signal.aborted,
    onListed: () => {
      if (!isSynced) log("info", "synced", { objects: informer.list().length });
      isSynced = true;
      watchingSince = clock.now().getTime();
      markSynced();
    },
    onError: (details) => log("warn", "the API server ended a watch", details),
  });
  const list = async () => {
    const { items, resourceVersion } = await listPages(kubeConfig, { ...kind, read }, stopped.signal);
    return { items, metadata: { resourceVersion } };
  };
  const informer = new ListWatch<Seen<Facts>>(kind.path, watch, list, false, kind.labelSelector, kind.fieldSelector, {
    delayFn: (ms) => pause(clock, Math.min(ms, LONGEST_RECONNECT_MS), stopped.signal),
  });

  /** The last state of each object: the informer reports only the new one. */
  const told = new Map<string, Seen<Facts>>();
  const tell = (seen: Seen<Facts>, gone: boolean) => {
    const key = `${seen.metadata.namespace ?? ""}/${seen.metadata.name}`;
    const before = told.get(key);
    if (gone) told.delete(key);
    else told.set(key, seen);
    onChange(gone ? undefined : seen, gone ? seen : before);
  };
  informer.on("add", (seen) => tell(seen, false));
  informer.on("update", (seen) => tell(seen, false));
  informer.on("delete", (seen) => tell(seen, true));

  const start = (): void => void informer.start().catch(startAgain);
  const startAgain = (error: unknown): void => {
    if (stopped.signal.aborted) return;
    const lasted = watchingSince === 0 ? 0 : clock.now().getTime() - watchingSince;
    failures = lasted > RESTART.longestMs ? 1 : failures + 1;
    watchingSince = 0;
    const ms = backoffMs(RESTART, failures, random);
    log("warn", "cannot watch, trying again", { reason: reasonOf(error), failures, inMs: Math.round(ms) });
    onFailure();
    void startAfter(ms);
  };
  const startAfter = async (ms: number): Promise<void> => {
    await pause(clock, ms, stopped.signal);
    if (!stopped.signal.aborted) start();
  };
  informer.on("error", startAgain);
  start();

  return {
    synced,
    isSynced: () => isSynced,
    get: (namespace, name) => told.get(`${namespace}/${name}`),
    list: (namespace) => informer.list(namespace),
    stop() {
      stopped.abort();
      void informer.stop();
    },
  };
}

/** Leaves out, and logs, an object that is not as expected: it hides no other one. */
export function createReader<Facts>({ read }: Pick<WatchedKind<Facts>, "read">, log: Log): WatchedKind<Facts>["read"] {
  return (object) => {
    try {
      return read(object);
    } catch (error) {
      log("error", "left out an object that is not as expected", { reason: reasonOf(error) });
      return undefined;
    }
  };
}

interface Projection<T> {
  readonly read: (object: unknown) => T | undefined;
  readonly isStopped: () => boolean;
  readonly onListed: () => void;
  readonly onError: (details: Readonly<Record<string, unknown>>) => void;
}

type OnEvent = (phase: string, object: unknown) => void;

/** Reduces each object before the informer sees it: whole objects never get into its cache. */
class ProjectingWatch<T> extends Watch {
  readonly #projection: Projection<T>;

  constructor(kubeConfig: KubeConfig, projection: Projection<T>) {
    super(kubeConfig);
    this.#projection = projection;
  }

  override async watch(
    path: string,
    query: Parameters<Watch["watch"]>[1],
    onEvent: OnEvent,
    onEnd: (error: unknown) => void,
  ): Promise<AbortController> {
    const { isStopped, onListed } = this.#projection;
    if (isStopped()) return new AbortController();
    onListed();
    try {
      const withBookmarks = { ...query, allowWatchBookmarks: true };
      const request = await super.watch(
        path,
        withBookmarks,
        (phase, object) => this.#pass(phase, object, onEvent),
        onEnd,
      );
      // The informer cannot abort a request that it has not received yet.
      if (isStopped()) request.abort();
      return request;
    } catch (error) {
      onEnd(error);
      return new AbortController();
    }
  }

  #pass(phase: string, object: unknown, onEvent: OnEvent): void {
    const { read, onError } = this.#projection;
    if (phase === "ERROR") onError(statusOf(object));
    if (phase === "ERROR" || phase === "BOOKMARK") return onEvent(phase, object);
    const seen = read(object);
    // An object that we ignore still advances the version from which a broken watch resumes.
    if (seen === undefined) onEvent("BOOKMARK", object);
    else onEvent(phase, seen);
  }
}

function statusOf(object: unknown): Readonly<Record<string, unknown>> {
  if (typeof object !== "object" || object === null) return {};
  return {
    ...("code" in object && { code: object.code }),
    ...("reason" in object && { reason: object.reason }),
  };
}
