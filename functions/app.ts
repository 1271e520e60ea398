/** The routes: which door answers what, for whom. */
import type { Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { Held } from "../shared/cluster/budget.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import { parseClusters, problemsOf } from "../shared/config/clusters.ts";
import { parseKeys } from "../shared/config/sealed-entry.ts";
import { LARGEST_BATCH_BYTES } from "../shared/events/cloud-event.ts";
import type { AdmissionReview, Received } from "./admission-review.ts";
import * as evictions from "./evictions.ts";
import * as deletions from "./deletions.ts";
import { accessProblems } from "./access-problems.ts";
import { descheduleNow } from "./descheduling.ts";
import type { Env, Platform } from "./env.ts";
import { receiveEvents, signedPayload } from "./events.ts";
import { clusterMetrics } from "./metrics.ts";
import { clusterReadyz } from "./readyz.ts";
import { readReview } from "./review-body.ts";
import { isCallersFault, RejectionError, rejectProblems, renderRejection, unavailable } from "./rejection.ts";
import { reconcileNow } from "./schedule.ts";
import type { createPages } from "./page/routes.ts";
import * as targets from "./target.ts";

/** Two objects of 3 MB, the API server's own limit, and the envelope. */
const LARGEST_REVIEW_BYTES = 7 * 1024 * 1024;
/** Of a caller that cannot be known. A launcher pod takes about 20 KB. */
const LARGEST_STRANGER_BYTES = 64 * 1024;

type AppContext = Context<{ Bindings: Env }>;
type Door = (c: AppContext, target: targets.Target) => Promise<Response>;

interface ReviewDoor {
  readonly review: (c: AppContext, target: targets.Target, received: Received) => Promise<Response>;
  /** The answer where there is no room for the review. */
  readonly refuseUnread: (uid: string) => AdmissionReview;
}
interface Expected {
  readonly door: ReviewDoor;
  readonly most: number;
}
type Answer = (body: string, held: Held) => Promise<Response>;

const EVICTIONS: ReviewDoor = { review: evictions.reviewEvictionRequest, refuseUnread: evictions.refuseUnread };
const DELETIONS: ReviewDoor = { review: deletions.reviewDeletionRequest, refuseUnread: deletions.refuseUnread };

export interface AppOptions {
  /** Whether there is a door for the relay. */
  readonly takesEvents: boolean;
}

export function createApp(
  platform: Platform,
  state: targets.IsolateState,
  { takesEvents }: AppOptions = { takesEvents: true },
): HonoBase<{ Bindings: Env }> {
  // Of the three that a plain Hono brings along, to choose from with its first request: enough for a score of routes.
  const app = new HonoBase<{ Bindings: Env }>({ router: new TrieRouter() });

  /** Finds the cluster, authenticates the caller, opens the door. */
  const guarded = (caller: targets.Caller, door: Door) => async (c: AppContext) => {
    const name = c.req.param("cluster") ?? "";
    const entry = await targets.findEntry(name, { env: c.env, platform, state });
    const inPath = caller === "webhook" ? c.req.param("webhookToken") : undefined;
    await targets.authenticate(entry, caller, targets.bearerOf(c.req.header("authorization")) ?? inPath);
    return await door(c, targets.targetOf(name, entry, { env: c.env, platform, state }));
  };
  const limitEvents = limitTo(LARGEST_BATCH_BYTES);
  /** A stranger cannot make Lifeboat hold more. */
  const limited = async (c: AppContext, limit: typeof limitEvents, open: () => Promise<Response>) => {
    const answers: Response[] = [];
    const rejected = await limit(c, async () => void answers.push(await open()));
    return rejected ?? answers[0] ?? reject(c, new RejectionError("InternalError"));
  };
  /** Deliveries are authenticated by their signature; as above, what is wrong with an entry is no stranger's business. */
  const events = async (c: AppContext) => {
    const name = c.req.param("cluster") ?? "";
    const entry = await targets.findEntry(name, { env: c.env, platform, state });
    const payload = await signedPayload(c, entry, platform.now());
    return await receiveEvents(c, targets.targetOf(name, entry, { env: c.env, platform, state }), payload);
  };
  const withRoom = async (c: AppContext, { door, most }: Expected, answer: Answer) => {
    const held = state.budget.openReview(platform.now());
    try {
      const body = await readReview(c, held, most);
      return "uid" in body ? c.json(door.refuseUnread(body.uid)) : await answer(body.text, held);
    } finally {
      held.end();
    }
  };
  const reviewed = (c: AppContext, door: ReviewDoor, arrived: Date) =>
    guarded("webhook", (_, target) =>
      withRoom(c, { door, most: LARGEST_REVIEW_BYTES }, (body, held) =>
        door.review(c, target, { arrived, body, held }),
      ),
    )(c);
  const eviction = (c: AppContext) => reviewed(c, EVICTIONS, platform.now());
  /** A deletion carries its pod: where no cluster can be asked, that alone says until when it is refused. */
  const deletion = (c: AppContext) => {
    const arrived = platform.now();
    let read: string | undefined;
    const review: ReviewDoor["review"] = (_, target, received) => {
      read = received.body;
      return deletions.reviewDeletionRequest(c, target, received);
    };
    return reviewed(c, { ...DELETIONS, review }, arrived).catch((error: unknown) => {
      if (isCallersFault(error)) throw error;
      const refuse = (body: string) => deletions.answerUnreviewed(c, platform, { arrived, body }, error);
      return read === undefined ? withRoom(c, { door: DELETIONS, most: LARGEST_STRANGER_BYTES }, refuse) : refuse(read);
    });
  };
  app.post("/clusters/:cluster/admission/evictions", eviction);
  app.post("/clusters/:cluster/admission/evictions/:webhookToken", eviction);
  app.post("/clusters/:cluster/admission/deletions", deletion);
  app.post("/clusters/:cluster/admission/deletions/:webhookToken", deletion);
  if (takesEvents) app.post("/clusters/:cluster/events", (c) => limited(c, limitEvents, () => events(c)));
  app.post("/clusters/:cluster/reconcile", guarded("webhook", reconcileNow));
  app.post("/clusters/:cluster/deschedule", guarded("webhook", descheduleNow));
  app.get("/clusters/:cluster/readyz", guarded("operator", clusterReadyz));
  app.get("/clusters/:cluster/metrics", guarded("operator", clusterMetrics));
  app.get("/healthz", (c) => c.json({ healthy: true }));
  app.get("/readyz", (c) => fleetReadyz(c));

  // Loaded with the first visit: an API server that waits for an answer never pays for the pages.
  let pages: ReturnType<typeof createPages> | undefined;
  const page = async (c: AppContext) => {
    pages ??= (await import("./page/routes.ts")).createPages(platform, state);
    return await pages.fetch(c.req.raw, c.env, contextOf(c));
  };
  for (const path of ["/", "/signin", "/signout", "/fleet/*", "/assets/*"]) app.all(path, page);

  app.notFound((c) => reject(c, new RejectionError("NotFound")));
  app.onError((error, c) => {
    if (error instanceof RejectionError) return reject(c, error);
    if (error instanceof ClusterError) return reject(c, unavailable(error));
    platform.log({ level: "error", message: "unexpected error", error: error.stack ?? error.message });
    return reject(c, new RejectionError("InternalError"));
  });
  return app;
}

/** Absent in a test that asks the app itself. */
function contextOf(c: AppContext): AppContext["executionCtx"] | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

function limitTo(bytes: number) {
  const told = { message: `expected a body of at most ${bytes} bytes` };
  return bodyLimit({ maxSize: bytes, onError: (c) => reject(c, new RejectionError("PayloadTooLarge", told)) });
}

function reject(c: Context, rejection: RejectionError): Response {
  const { code, body } = renderRejection(rejection);
  return c.json(body, code);
}

/** Whether CLUSTERS, the registry's keys and what says which Access to believe parse. Nothing about clusters: strangers may ask. */
function fleetReadyz(c: AppContext): Response {
  const { CLUSTERS, CLUSTER_REGISTRY, REGISTRY_KEY } = c.env;
  const keys = CLUSTER_REGISTRY === undefined ? undefined : parseKeys(REGISTRY_KEY);
  if (keys?.ok === false) rejectProblems("InvalidConfiguration", keys.problems);
  const access = accessProblems(c.env);
  if (access.length > 0) rejectProblems("InvalidConfiguration", access);
  const configured = CLUSTERS !== undefined || CLUSTER_REGISTRY !== undefined;
  if (configured && problemsOf(parseClusters(CLUSTERS)).length === 0) return c.json({ ready: true });
  const message = "expected a JSON object of valid entries; the log of the scheduled tick names what is wrong";
  return reject(c, new RejectionError("InvalidConfiguration", { field: "CLUSTERS", message }));
}
