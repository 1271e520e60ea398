/** The app of one isolate over a fake cluster, and what people ask of it by the command. */
import { createApp } from "../../functions/app.ts";
import type { Platform } from "../../functions/env.ts";
import { reconcileWithin } from "../../functions/reconcile.ts";
import { newIsolateState, type Target, targetOf } from "../../functions/target.ts";
import { cancelEvacuations, type Cancelling } from "../../shared/evacuation/api.ts";
import { explanationOf } from "../../shared/eviction/explanation.ts";
import { reviewEviction } from "../../shared/eviction/review.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { DrainFlags, Preflight } from "../../shared/preflight/facts.ts";
import { observePreflight } from "../../shared/preflight/observe.ts";
import { preflight } from "../../shared/preflight/verdict.ts";
import { reconcileVmi } from "../../shared/reconcile/reconcile.ts";
import { NOW } from "./fixtures.ts";
import type { VirtualClock } from "./clock.ts";
import { type Answer, answerOf, asOperator, asWebhook, type Doors, entry, newPlatform, openDoors } from "./doors.ts";
import { type Before, type FakeCluster, SERVER } from "./fake-cluster.ts";
import { reviewBeside } from "./parties.ts";
import { podObject } from "./pods-and-nodes.ts";

/** A pod of these facts, as an API server sends it with a review. */
export const objectOf = podObject;

export interface FakeDoors extends Pick<Doors, "log" | "settle" | "now" | "pass"> {
  /** Whom KubeVirt's webhook is asked beside. */
  evict(review: unknown, timeout?: string): Promise<Answer>;
  delete(review: unknown): Promise<Answer>;
  /** As the command asks. */
  explain(pod: NamespacedName): Promise<ReturnType<typeof explanationOf>>;
  explainNode(node: string, flags?: DrainFlags): Promise<Preflight>;
  /** And the reconcile that follows. */
  cancel(vmi: NamespacedName): Promise<Cancelling>;
  reconcile(): Promise<Answer>;
  metrics(): Promise<Answer>;
  ready(): Promise<Answer>;
  readonly target: Target;
}

const ASK_SECONDS = 10;

/** All that the app of an isolate is asked by anyone, over a fake cluster. */
export function openDoorsOf(fake: FakeCluster, before?: Before): Doors {
  const doors = openDoors({ CLUSTERS: { prod: entry(SERVER) } }, undefined, { fetch: fake.api.fetch(before) });
  fake.now = () => doors.now();
  return doors;
}

interface FakeOptions extends Pick<Platform, "stores"> {
  readonly clock?: VirtualClock;
}

/** `clock`: time passes by it, and deadlines with it. */
export function openFakeDoors(fake: FakeCluster, before?: Before, { clock, stores }: FakeOptions = {}): FakeDoors {
  const instead = { fetch: fake.api.fetch(before), ...clock?.platform, ...(stores && { stores }) };
  const { platform, context, world } = newPlatform(undefined, NOW, instead);
  const state = newIsolateState();
  const prod = entry(SERVER);
  const env = { CLUSTERS: JSON.stringify({ prod }) };
  const target = targetOf("prod", { ...prod, headers: {} }, { env, platform, state });
  fake.now = platform.now;
  let app: ReturnType<typeof createApp> | undefined;
  const ask = async (path: string, init: RequestInit) => {
    // Its routes take longer than a reconcile, which needs none.
    app ??= createApp(platform, state);
    return await answerOf(await app.request(`/clusters/prod/${path}`, init, env, context));
  };
  const post = (path: string, body?: unknown) =>
    ask(path, { method: "POST", headers: asWebhook, ...(body !== undefined && { body: JSON.stringify(body) }) });
  const asking = async () => {
    const cluster = target.connect(ASK_SECONDS);
    return { cluster, settings: (await target.settings(cluster)).settings, now: platform.now() };
  };
  return {
    ...world,
    ...(clock && { pass: (seconds: number) => clock.pass(seconds), settle: () => clock.outcome(world.settle()) }),
    target,
    async evict(review, timeout = "10s") {
      const answer = await post(`admission/evictions?timeout=${timeout}`, review);
      reviewBeside(fake, review);
      return answer;
    },
    delete: (review) => post("admission/deletions?timeout=10s", review),
    explain: async (key) => {
      const request = { username: "explain", cause: "ApiEviction" } as const;
      const { cluster, settings, now } = await asking();
      const asked = { key, readPod: () => cluster.get("pods", key), request };
      return explanationOf(await reviewEviction(asked, { cluster, settings: async () => settings, now }));
    },
    explainNode: async (node, flags = { force: false, deleteEmptyDirData: false }) => {
      const facts = await observePreflight(node, flags, await asking());
      if (facts === undefined) throw new Error(`no node ${node}`);
      return preflight(facts);
    },
    cancel: async (key) => {
      const cancelling = await cancelEvacuations(key, await asking());
      await reconcileWithin(target, ASK_SECONDS, (deps) => reconcileVmi(key, deps));
      return cancelling;
    },
    reconcile: () => post("reconcile"),
    metrics: () => ask("metrics", { headers: asOperator }),
    ready: () => ask("readyz", { headers: asOperator }),
  };
}
