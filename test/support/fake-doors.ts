/** The doors of one isolate over a fake cluster: what they do with facts, without HTTP to an API server. */
import { type Context, Hono } from "hono";
import { reviewDeletionRequest } from "../../functions/deletions.ts";
import type { Env } from "../../functions/env.ts";
import { reviewEvictionRequest } from "../../functions/evictions.ts";
import { clusterMetrics, clusterReadyz } from "../../functions/metrics.ts";
import { reconcileNow, reconcileWithin } from "../../functions/reconcile.ts";
import { RejectionError, rejectionOf, renderRejection } from "../../functions/errors.ts";
import { newIsolateState, type Target, targetOf } from "../../functions/target.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import { cancelEvacuations, type Cancelling } from "../../shared/evacuation/api.ts";
import { reviewEviction } from "../../shared/eviction/review.ts";
import { explanationOf } from "../../shared/eviction/explanation.ts";
import { observePreflight } from "../../shared/preflight/observe.ts";
import { reconcileVmi } from "../../shared/reconcile/reconcile.ts";
import type { NamespacedName, PodFacts } from "../../shared/kube/facts.ts";
import type { DrainFlags, Preflight } from "../../shared/preflight/facts.ts";
import { preflight } from "../../shared/preflight/verdict.ts";
import { type Before, connectTo } from "./fake-cluster/connect.ts";
import type { FakeCluster } from "./fake-cluster/fake-cluster.ts";
import { reviewBeside } from "./fake-cluster/fake-virt-api.ts";
import { NOW } from "./fixtures.ts";
import { type Answer, answerOf, type Doors, entry, newPlatform } from "./doors.ts";

export interface FakeDoors extends Pick<Doors, "log" | "settle" | "now" | "pass"> {
  evict(review: unknown, timeout?: string): Promise<Answer>;
  /** `waited`: how many seconds ago the API server asked. */
  delete(review: unknown, waited?: number): Promise<Answer>;
  /** As the command asks. */
  explain(pod: NamespacedName): Promise<ReturnType<typeof explanationOf>>;
  explainNode(node: string, flags?: DrainFlags): Promise<Preflight>;
  /** And the look that follows. */
  cancel(vmi: NamespacedName): Promise<Cancelling>;
  reconcile(): Promise<Answer>;
  metrics(): Promise<Answer>;
  ready(): Promise<Answer>;
  readonly target: Target;
}

/** A pod of these facts, as an API server sends it with a review. */
export function objectOf(pod: PodFacts): unknown {
  const { namespace, name, uid, labels, annotations, owners: ownerReferences, nodeName, phase, disruptionTarget } = pod;
  const { active, ...told } = disruptionTarget ?? { active: false, since: "" };
  const disrupted = { type: "DisruptionTarget", status: active ? "True" : "False", lastTransitionTime: told.since };
  return {
    kind: "Pod",
    metadata: { namespace, name, uid, resourceVersion: "1", labels, annotations, ownerReferences },
    spec: { nodeName },
    status: { phase, conditions: disruptionTarget ? [{ ...disrupted, ...told }] : [] },
  };
}

const ASK_SECONDS = 10;

/** `before`: told, too, when the connection ends, in milliseconds since the epoch. */
export function openFakeDoors(
  fake: FakeCluster,
  before: (request: string, endsAt: number, scope?: unknown) => ReturnType<Before> = () => undefined,
  tweak: { readonly token?: string } = {},
): FakeDoors {
  const { platform, context, world } = newPlatform(undefined, NOW);
  const state = newIsolateState();
  const target: Target = {
    ...targetOf("prod", { ...entry("https://fake"), ...tweak, headers: {} }, { env: {}, platform, state }),
    connect: (seconds) => {
      const endsAt = platform.now().getTime() + seconds * 1000;
      return connectTo(fake, (request, scope) => before(request, endsAt, scope));
    },
  };
  fake.now = platform.now;
  const app = new Hono<{ Bindings: Env }>();
  const received = async (c: Context, waited = 0) => {
    const arrived = new Date(platform.now().getTime() - waited * 1000);
    return { arrived, body: await c.req.text(), held: state.budget.openReview(arrived) };
  };
  app.post("/evictions", async (c) => reviewEvictionRequest(c, target, await received(c)));
  app.post("/deletions/:waited", async (c) =>
    reviewDeletionRequest(c, target, await received(c, Number(c.req.param("waited")))),
  );
  app.post("/reconcile", (c) => reconcileNow(c, target));
  app.get("/metrics", (c) => clusterMetrics(c, target));
  app.get("/readyz", (c) => clusterReadyz(c, target));
  app.onError((error, c) => {
    if (!(error instanceof ClusterError || error instanceof RejectionError)) throw error;
    const { code, body } = renderRejection(rejectionOf(error, platform.log));
    return c.json(body, code);
  });
  const ask = async (path: string, method: string, body?: unknown) =>
    await answerOf(await app.request(path, { method, ...(body ? { body: JSON.stringify(body) } : {}) }, {}, context));
  const asking = async () => {
    const cluster = target.connect(ASK_SECONDS);
    return { cluster, settings: (await target.settings(cluster)).settings, now: platform.now() };
  };
  return {
    ...world,
    target,
    async evict(review, timeout = "10s") {
      const answer = await ask(`/evictions?timeout=${timeout}`, "POST", review);
      reviewBeside(fake, review);
      return answer;
    },
    delete: (review, waited = 0) => ask(`/deletions/${waited}?timeout=10s`, "POST", review),
    explain: async (key) => {
      const request = { username: "explain", cause: "ApiEviction" } as const;
      const { cluster, settings, now } = await asking();
      const asked = { key, pod: cluster.get("pods", key), request };
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
    reconcile: () => ask("/reconcile", "POST"),
    metrics: () => ask("/metrics", "GET"),
    ready: () => ask("/readyz", "GET"),
  };
}
