/**
 * Runs Lifeboat's app as its runtime (workerd or Node.js) does. The test controls the clock, and waits for work that
 * continues after an answer.
 */
import { setImmediate } from "node:timers/promises";
import { createApp } from "../../functions/app.ts";
import type { Env, Platform } from "../../functions/env.ts";
import { reconcileWithin } from "../../functions/reconcile.ts";
import { receiveTicks, runTick } from "../../functions/schedule.ts";
import {
  type IsolateState,
  newIsolateState,
  type Surroundings,
  type Target,
  targetOf,
} from "../../functions/target.ts";
import { cancelEvacuations, type Cancelling } from "../../shared/act/evacuate-vm.ts";
import { explanationOf } from "../../shared/eviction/explanation.ts";
import { reviewEviction } from "../../shared/eviction/review.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { DrainFlags, Preflight } from "../../shared/preflight/facts.ts";
import { readPreflight } from "../../shared/preflight/read.ts";
import { preflight } from "../../shared/preflight/verdict.ts";
import { reconcileVmi } from "../../shared/reconcile/reconcile.ts";
import type { VirtualClock } from "./clock.ts";
import { type Before, FakeCluster, SERVER } from "./cluster.ts";
import { reach } from "./cluster/network.ts";
import { NOW } from "./fixtures.ts";
import { reviewBeside } from "./cluster/parties.ts";
import { REGISTRY_KEY } from "./sealed.ts";

export const TOKENS = {
  token: "service-account-token",
  webhookToken: "the-webhook-token",
  operatorToken: "the-operator-token",
} as const;

/** Returns a minimal valid entry of `CLUSTERS`, changed by `tweak`. */
export function entry(server: string, tweak: Readonly<Record<string, unknown>> = {}) {
  return { server, ...TOKENS, ...tweak };
}

export interface Answer {
  readonly code: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly headers: Headers;
  readonly text: string;
  /** The text parsed as JSON, or undefined if the text is not JSON. */
  readonly body: unknown;
}

export interface App {
  request(path: string | Request, init?: RequestInit): Promise<Answer>;
  /** Sends a review to the webhook for evictions of the cluster prod. KubeVirt's webhook also reviews the eviction. */
  evict(review: unknown, timeout?: string): Promise<Answer>;
  delete(review: unknown): Promise<Answer>;
  reconcile(): Promise<Answer>;
  metrics(): Promise<Answer>;
  tick(at: Date, more?: Pick<Surroundings, "stays" | "leave">): Promise<void>;
  receive(...bodies: readonly unknown[]): Promise<void>;
  explain(pod: NamespacedName): Promise<ReturnType<typeof explanationOf>>;
  explainNode(node: string, flags?: DrainFlags): Promise<Preflight>;
  /** Cancels evacuations as `lifeboat cancel` does, and reconciles the VMI. */
  cancel(vmi: NamespacedName): Promise<Cancelling>;
  readonly after: readonly Promise<unknown>[];
  settle(): Promise<void>;
  now(): Date;
  pass(seconds: number): void;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly target: Target;
}

export type TestEnv = Omit<Env, "CLUSTERS"> & { readonly CLUSTERS?: unknown };

export interface Instead extends Partial<Platform> {
  readonly clock?: VirtualClock;
  readonly registry?: IsolateState["registry"];
}

/** Returns a simulated runtime. Tests read its clock, its log, and the work that continues after an answer. */
export function newPlatform(instead: Partial<Platform> = {}, start = NOW) {
  let now = start.getTime();
  const log: Record<string, unknown>[] = [];
  const after: Promise<unknown>[] = [];
  const platform: Platform = {
    fetch: reach,
    now: () => new Date(now),
    sleep: async (ms) => {
      now += ms;
      await setImmediate();
    },
    // Never aborts, unless the test provides a clock.
    timeout: () => new AbortController().signal,
    // Keeps the clusters in the order of their names.
    random: () => 0,
    log: (line) => void log.push(line),
    ...instead,
  };
  const context = {
    waitUntil: (promise: Promise<unknown>) => void after.push(promise),
    passThroughOnException: () => undefined,
    props: {},
  };
  const world = {
    log,
    after,
    async settle() {
      while (after.length > 0) await after.shift();
    },
    now: platform.now,
    pass: (seconds: number) => void (now += seconds * 1000),
  };
  return { platform, context, world };
}

const ASK_SECONDS = 10;

function fetchOf(fake: FakeCluster | undefined, before?: Before): Platform["fetch"] {
  const answer = fake?.api.fetch(before);
  return (url, init) => (answer && url.startsWith(SERVER) ? answer : reach)(url, init);
}

function envOf({ CLUSTERS, ...others }: TestEnv): Env {
  const text = typeof CLUSTERS === "string" ? CLUSTERS : JSON.stringify(CLUSTERS);
  return { REGISTRY_KEY, ...others, ...(CLUSTERS === undefined ? {} : { CLUSTERS: text }) };
}

/** Opens the app for a fake cluster named prod, or for the clusters of an environment. */
export function openApp(of: FakeCluster | TestEnv, before?: Before, instead: Instead = {}): App {
  const { clock, registry, ...more } = instead;
  const fake = of instanceof FakeCluster ? of : undefined;
  const env = envOf(of instanceof FakeCluster ? { CLUSTERS: { prod: entry(SERVER) } } : of);
  const { platform, context, world } = newPlatform({ fetch: fetchOf(fake, before), ...clock?.platform, ...more });
  if (fake) fake.now = platform.now;
  const state = { ...newIsolateState(), ...(registry && { registry }) };
  const target = targetOf("prod", { ...entry(SERVER), headers: {} }, { env, platform, state });
  let app: ReturnType<typeof createApp> | undefined;
  const request = async (path: string | Request, init?: RequestInit) => {
    // Creates the app only for a request, because the creation of the routes takes longer than a reconcile.
    app ??= createApp(platform, state);
    return await answerOf(await app.request(path, init, env, context));
  };
  const post = (path: string, body?: unknown) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return request(`/clusters/prod/${path}`, { method: "POST", headers: asWebhook, ...sent });
  };
  return {
    ...world,
    ...(clock && { pass: (seconds: number) => clock.pass(seconds), settle: () => clock.outcome(world.settle()) }),
    ...commandOf(target, platform),
    target,
    request,
    async evict(review, timeout = "10s") {
      const answer = await post(`admission/evictions?timeout=${timeout}`, review);
      if (fake) reviewBeside(fake, review);
      return answer;
    },
    delete: (review) => post("admission/deletions?timeout=10s", review),
    reconcile: () => post("reconcile"),
    metrics: () => request("/clusters/prod/metrics", { headers: asOperator }),
    tick: (at, surroundings = {}) => runTick(at.getTime(), { env, platform, state, ...surroundings }),
    receive: (...bodies) => receiveTicks(bodies, { env, platform, state }),
  };
}

/** Runs `explain`, `explain node` and `cancel` of the command on the same cluster. */
function commandOf(target: Target, { now: clockNow }: Pick<Platform, "now">) {
  const asking = async () => {
    const cluster = target.connect(ASK_SECONDS);
    return { cluster, settings: (await target.settings(cluster)).settings, now: clockNow() };
  };
  const commands: Pick<App, "explain" | "explainNode" | "cancel"> = {
    explain: async (key) => {
      const request = { username: "explain", cause: "ApiEviction" } as const;
      const { cluster, settings, now } = await asking();
      const asked = { key, readPod: () => cluster.get("pods", key), request };
      return explanationOf(await reviewEviction(asked, { cluster, settings: async () => settings, now }));
    },
    explainNode: async (node, flags = { force: false, deleteEmptyDirData: false }) => {
      const facts = await readPreflight(node, flags, await asking());
      if (facts === undefined) throw new Error(`no node ${node}`);
      return preflight(facts);
    },
    cancel: async (key) => {
      const cancelling = await cancelEvacuations(key, await asking());
      await reconcileWithin(target, ASK_SECONDS, (deps) => reconcileVmi(key, deps));
      return cancelling;
    },
  };
  return commands;
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const { headers, status: code } = response;
  const [contentType, retryAfter] = [headers.get("content-type"), headers.get("retry-after")];
  return { code, contentType, retryAfter, headers, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const asWebhook = { authorization: `Bearer ${TOKENS.webhookToken}` };
export const asOperator = { authorization: `Bearer ${TOKENS.operatorToken}` };
