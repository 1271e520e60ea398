/** The routes of the pages, and the checks that protect them. */
import { bodyLimit } from "hono/body-limit";
import { getCookie } from "hono/cookie";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import { secureHeaders } from "hono/secure-headers";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { Env, Platform } from "../env.ts";
import { RejectionError } from "../errors.ts";
import type { IsolateState, Surroundings } from "../target.ts";
import { clusterPage } from "./cluster.ts";
import { clusterPath, FLEET_PATH } from "./components.ts";
import { fleetPage } from "./fleet.ts";
import { answerError, type Asset, ASSETS, layout, type Shown } from "./layout.ts";
import { nodeEvacuationPage } from "./maintenance.ts";
import { nodePage, type RecentPreflights } from "./node.ts";
import type { RecentVms } from "./nodes.ts";
import { COOKIE, openClusters, openCookie, type PageContext, type Visit, visitTo } from "./session.ts";
import { rollingPage } from "./rolling.ts";
import { signingIn } from "./sign-in.ts";
import { vmPage } from "./vm.ts";

/** Allows only files of Lifeboat itself, and forbids inline scripts and styles. */
const CONTENT_SECURITY_POLICY = {
  defaultSrc: ["'none'"],
  styleSrc: ["'self'"],
  scriptSrc: ["'self'"],
  connectSrc: ["'self'"],
  imgSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
};

const HEADERS = {
  contentSecurityPolicy: CONTENT_SECURITY_POLICY,
  // With `no-referrer`, browsers would send `Origin: null` with Lifeboat's own forms. `ownFormsOnly` would then reject
  // the forms of a browser that sends no Sec-Fetch-Site.
  referrerPolicy: "same-origin",
  strictTransportSecurity: "max-age=31536000",
  xFrameOptions: "DENY",
};

/** The maximum size of a form. A token is at most a few KB long. */
const LARGEST_FORM_BYTES = 16 * 1024;

export function createPages(platform: Platform, state: IsolateState): HonoBase<{ Bindings: Env }> {
  const app = new HonoBase<{ Bindings: Env }>({ router: new TrieRouter() });
  const around = (c: PageContext): Surroundings => ({ env: c.env, platform, state });
  const page = (read: (visit: Visit, c: PageContext) => Promise<Shown>) => async (c: PageContext) => {
    const visit = await visitTo(c.req.param("cluster") ?? "", await cookieIn(c), around(c));
    return await show(c, await read(visit, c), visit.visitor.name);
  };

  /** Shows the fleet. Redirects a visitor with one cluster to the page of that cluster. */
  const fleet = async (c: PageContext) => {
    const open = await openClusters(await cookieIn(c), around(c));
    const [first, ...others] = open.visits;
    if (first !== undefined && others.length === 0) return c.redirect(clusterPath(first.target.name), 303);
    return await show(c, await fleetPage(open), first?.visitor.name ?? "");
  };

  app.use(secureHeaders(HEADERS), neverStored, ownFormsOnly, bodyLimit({ maxSize: LARGEST_FORM_BYTES, onError }));
  const { ask, signIn, signOut } = signingIn(around);
  app.get("/signin", ask).post(signIn);
  app.post("/signout", signOut);
  app.get(FLEET_PATH, fleet);
  app.get("/fleet", fleet);
  const recentVms: RecentVms = new Map();
  app.get(
    "/fleet/:cluster",
    page((visit) => clusterPage(visit, recentVms)),
  );
  const recent: RecentPreflights = new Map();
  const node = page((visit, c) => nodePage(visit, nodeIn(c), recent));
  app.get("/fleet/:cluster/nodes/:node", node);
  const vm = page((visit, c) => vmPage(visit, vmIn(c)));
  app.get("/fleet/:cluster/vms/:namespace/:name", vm);
  const nodeEvacuation = page((visit, c) => nodeEvacuationPage(visit, c.req.param("name") ?? ""));
  app.get("/fleet/:cluster/nodeevacuations/:name", nodeEvacuation);
  const rolling = page((visit, c) => rollingPage(visit, c.req.param("name") ?? ""));
  app.get("/fleet/:cluster/rollingmaintenances/:name", rolling);
  for (const asset of Object.values(ASSETS)) app.get(asset.path, (c) => serve(c, asset));
  app.notFound((c) => answerError(c, new RejectionError("NotFound"), platform));
  app.onError((error, c) => answerError(c, error, platform));
  return app;
}

async function show(c: PageContext, shown: Shown, visitor: string): Promise<Response> {
  return c.html(await layout({ ...shown, visitor, path: c.req.path }));
}

/**
 * Forbids caching, because an answer is for one visitor only. Styles and scripts set another `cache-control`, because
 * their names contain a hash of their content.
 */
async function neverStored(c: PageContext, next: () => Promise<void>): Promise<void> {
  await next();
  if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
}

/**
 * Rejects a form from another site, because the form could sign the visitor in as somebody else. Every browser that
 * supports `__Host-` cookies sends Origin or Sec-Fetch-Site with a POST. No page can set these headers.
 */
async function ownFormsOnly(c: PageContext, next: () => Promise<void>): Promise<void> {
  if (c.req.method === "POST") {
    const origin = c.req.header("origin");
    const isOwn = c.req.header("sec-fetch-site") === "same-origin" || origin === new URL(c.req.url).origin;
    if (!isOwn) throw new RejectionError("CrossOrigin");
  }
  await next();
}

function cookieIn(c: PageContext): Promise<string | undefined> {
  return openCookie(getCookie(c, COOKIE), c.env);
}

function nodeIn(c: PageContext): string {
  return c.req.param("node") ?? "";
}

function vmIn(c: PageContext): NamespacedName {
  return { namespace: c.req.param("namespace") ?? "", name: c.req.param("name") ?? "" };
}

function onError(): never {
  throw new RejectionError("PayloadTooLarge", { message: `expected a form of at most ${LARGEST_FORM_BYTES} bytes` });
}

function serve(c: PageContext, { type, content }: Asset): Response {
  return c.body(content, 200, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" });
}
