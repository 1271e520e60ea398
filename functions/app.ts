/**
 * Routes requests to handlers. Before a handler runs, Lifeboat finds the cluster, authenticates the caller, and
 * reserves memory for the body.
 */
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HonoBase } from "hono/hono-base";
import { timingSafeEqual } from "hono/utils/buffer";
import { TrieRouter } from "hono/router/trie-router";
import { LARGEST_BATCH_BYTES } from "../shared/events/cloud-event.ts";
import type { ClusterEntry } from "../shared/settings/clusters.ts";
import * as deletions from "./deletions.ts";
import { descheduleNow } from "./deschedule.ts";
import type { Env, Platform } from "./env.ts";
import { rejectionOf, RejectionError, renderRejection } from "./errors.ts";
import { asRelay, receiveEvents } from "./events.ts";
import * as evictions from "./evictions.ts";
import { clusterMetrics, clusterReadyz, fleetReadyz } from "./metrics.ts";
import type * as Pages from "./page/routes.ts";
import { reconcileNow } from "./reconcile.ts";
import { type AdmissionReview, readBody, type Received, tooLarge } from "./review.ts";
import { findEntry, type IsolateState, type Target, targetOf } from "./target.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * The maximum size of an AdmissionReview, which contains up to two objects. The API server limits an object to 3 MB.
 */
const LARGEST_REVIEW_BYTES = 7 * 1024 * 1024;

interface Of {
  readonly Bindings: Env;
  readonly Variables: {
    readonly entry: Target["entry"];
    readonly arrived: Date;
    readonly target: Target;
    readonly received?: Received;
  };
}

type AppContext = Context<Of>;
type Middleware = MiddlewareHandler<Of>;

export interface AppOptions {
  readonly takesEvents: boolean;
}

export function createApp(
  platform: Platform,
  state: IsolateState,
  { takesEvents }: AppOptions = { takesEvents: true },
): HonoBase<Of> {
  // Passes one router, because the class `Hono` would create three routers, and choose among them at the first request.
  const app = new HonoBase<Of>({ router: new TrieRouter() });

  const noteArrival: Middleware = async (c, next) => {
    c.set("arrived", platform.now());
    await next();
  };
  const findCluster: Middleware = async (c, next) => {
    c.set("entry", await findEntry(c.req.param("cluster") ?? "", { env: c.env, platform, state }));
    await next();
  };
  const authenticate =
    (verify: Verify): Middleware =>
    async (c, next) => {
      const { entry } = c.var;
      await verify(c, entry, platform.now());
      c.set("target", targetOf(c.req.param("cluster") ?? "", entry, { env: c.env, platform, state }));
      await next();
    };
  /**
   * Reads the body of a review. Reserves memory until the answer is sent, and refuses the review if memory is short.
   */
  const receive =
    (most: number, refuseUnread: (uid: string) => AdmissionReview): Middleware =>
    async (c, next) => {
      const held = state.budget.openReview(platform.now());
      try {
        const body = await readBody(c, held, most);
        if ("uid" in body) return c.json(refuseUnread(body.uid));
        c.set("received", { arrived: c.var.arrived, body: body.text, held });
        return await next();
      } finally {
        held.end();
      }
    };
  const webhook = [findCluster, authenticate(asWebhook)] as const;
  const operator = [findCluster, authenticate(asOperator)] as const;
  const eviction = [noteArrival, ...webhook, receive(LARGEST_REVIEW_BYTES, evictions.refuseUnread)] as const;
  const deletion = [noteArrival, ...webhook, receive(LARGEST_REVIEW_BYTES, deletions.refuseUnread)] as const;
  for (const token of ["", "/:webhookToken"]) {
    app.post(`/clusters/:cluster/admission/evictions${token}`, ...eviction, reviewed(evictions.reviewEvictionRequest));
    app.post(`/clusters/:cluster/admission/deletions${token}`, ...deletion, reviewed(deletions.reviewDeletionRequest));
  }
  if (takesEvents) {
    const limit = bodyLimit({ maxSize: LARGEST_BATCH_BYTES, onError: (c) => reject(c, tooLarge(LARGEST_BATCH_BYTES)) });
    app.post("/clusters/:cluster/events", limit, findCluster, authenticate(asRelay), (c) =>
      receiveEvents(c, c.var.target),
    );
  }
  app.post("/clusters/:cluster/reconcile", ...webhook, (c) => reconcileNow(c, c.var.target));
  app.post("/clusters/:cluster/deschedule", ...webhook, (c) => descheduleNow(c, c.var.target));
  app.get("/clusters/:cluster/readyz", ...operator, (c) => clusterReadyz(c, c.var.target));
  app.get("/clusters/:cluster/metrics", ...operator, (c) => clusterMetrics(c, c.var.target));
  app.get("/healthz", (c) => c.json({ healthy: true }));
  app.get("/readyz", (c) => fleetReadyz(c, c.env));

  // Loads the code of the pages at the first visit to a page. API servers do not need this code.
  let pages: ReturnType<typeof Pages.createPages> | undefined;
  const page = async (c: AppContext) => {
    const { createPages } = await import("./page/routes.ts");
    pages ??= createPages(platform, state);
    return await pages.fetch(c.req.raw, c.env, contextOf(c));
  };
  for (const path of ["/", "/signin", "/signout", "/fleet/*", "/assets/*"]) app.all(path, page);

  app.notFound((c) => (isForPerson(c) ? page(c) : reject(c, new RejectionError("NotFound"))));
  app.onError((error, c) => reject(c, rejectionOf(error, platform.log)));
  return app;
}

type Review = (c: Context, target: Target, received: Received) => Promise<Response>;

function reviewed(review: Review) {
  return (c: AppContext) => review(c, c.var.target, receivedBy(c));
}

function receivedBy({ var: { received } }: AppContext): Received {
  if (received === undefined) throw new Error(MESSAGES.noBody);
  return received;
}

function contextOf(c: AppContext): AppContext["executionCtx"] | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

function isForPerson({ req }: Context): boolean {
  const isRead = req.method === "GET" || req.method === "HEAD";
  return isRead && req.header("accept")?.includes("text/html") === true;
}

function reject(c: Context, rejection: RejectionError): Response {
  const { code, body } = renderRejection(rejection);
  return c.json(body, code);
}

type Verify = (c: Context, entry: ClusterEntry, now: Date) => Promise<void>;

/**
 * Authenticates an API server by a token. Accepts the token in the Authorization header or in the path, because some
 * API servers cannot send the header.
 */
const asWebhook: Verify = async (c, { webhookToken }) => {
  const presented = bearerOf(c) ?? c.req.param("webhookToken");
  if (!(await isOneOf(webhookToken, presented))) throw new RejectionError("Unauthorized");
};

const asOperator: Verify = async (c, { webhookToken, operatorToken = webhookToken }) => {
  if (await isOneOf(operatorToken, bearerOf(c))) return;
  throw new RejectionError("Unauthorized", { message: MESSAGES.notTheOperator });
};

function bearerOf(c: Context): string | undefined {
  return /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
}

/** Compares the token with every expected token, so that the duration reveals nothing about the expected tokens. */
async function isOneOf(expected: string | readonly string[], presented = ""): Promise<boolean> {
  return (await Promise.all([expected].flat().map((token) => timingSafeEqual(presented, token)))).includes(true);
}
