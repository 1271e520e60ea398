/** The pages for people: which address shows what, to whom. */
import { bodyLimit } from "hono/body-limit";
import { getCookie } from "hono/cookie";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import { secureHeaders } from "hono/secure-headers";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { Env, Platform } from "../env.ts";
import { RejectionError } from "../errors.ts";
import type { IsolateState, Surroundings } from "../target.ts";
import { act, resultNotice } from "./acts.ts";
import { clusterPage } from "./cluster.ts";
import { ACTS, clusterPath, FLEET_PATH, vmPath } from "./components.ts";
import { type Fleet, fleetPage } from "./fleet.ts";
import { answerError, type Asset, ASSETS } from "./layout.ts";
import { nodePage } from "./node.ts";
import { COOKIE, openCookie } from "./session.ts";
import { signingIn } from "./sign-in.ts";
import { type LivePage, RecentReads, show } from "./stream.ts";
import {
  AccessVisitors,
  ASSERTION,
  openClusters,
  type PageContext,
  type Presented,
  type Visit,
  visitTo,
} from "./visits.ts";
import { vmPage } from "./vm.ts";

/** Nothing but what this Worker itself serves, and no script or style in the document. */
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
  // With `no-referrer`, browsers say `Origin: null` of our own forms, too.
  referrerPolicy: "same-origin",
  strictTransportSecurity: "max-age=31536000",
  xFrameOptions: "DENY",
};

/** One with 500 VMs takes two megabytes, of the 128 that an isolate has for all that it does. */
const MOST_NODES = 16;
/** A ServiceAccount's token takes about 1 KB, one of OIDC with many groups a few. */
const LARGEST_FORM_BYTES = 16 * 1024;

export function createPages(platform: Platform, state: IsolateState): HonoBase<{ Bindings: Env }> {
  const app = new HonoBase<{ Bindings: Env }>({ router: new TrieRouter() });
  const access = new AccessVisitors(platform);
  const around = (c: PageContext): Surroundings => ({ env: c.env, platform, state });
  const presentedIn = async (c: PageContext): Promise<Presented> => ({
    cookie: await openCookie(getCookie(c, COOKIE), c.env),
    access: await access.find(c.req.header(ASSERTION), c.env),
  });
  const visitOf = async (c: PageContext): Promise<Visit> => {
    return await visitTo(c.req.param("cluster") ?? "", await presentedIn(c), around(c));
  };
  const live = <F>(page: (visit: Visit, c: PageContext) => LivePage<F>, recent = new RecentReads<F>()) => {
    return async (c: PageContext) => {
      const visit = await visitOf(c);
      const result = resultNotice(c.req.query("result"));
      const { target, visitor } = visit;
      return await show(c, { page: page(visit, c), recent, cluster: target.name, visitor, platform, result });
    };
  };

  /** A visitor with one cluster is led to it. */
  const fleets = new RecentReads<Fleet>();
  const fleet = async (c: PageContext) => {
    const open = await openClusters(await presentedIn(c), around(c));
    const [first, ...others] = open.visits;
    if (first !== undefined && others.length === 0) return c.redirect(clusterPath(first.target.name), 303);
    const visitor = { name: first?.visitor.name ?? "", mayAct: false };
    return await show(c, { page: fleetPage(open), recent: fleets, cluster: "", visitor, platform });
  };

  app.use(secureHeaders(HEADERS), neverStored, ownFormsOnly, bodyLimit({ maxSize: LARGEST_FORM_BYTES, onError }));
  const { ask, signIn, signOut } = signingIn(around);
  app.get("/signin", ask).post(signIn);
  app.post("/signout", signOut);
  app.get(FLEET_PATH, fleet);
  app.get("/fleet", fleet);
  app.get("/fleet/:cluster", live(clusterPage));
  const node = live((visit, c) => nodePage(visit, c.req.param("node") ?? ""), new RecentReads(MOST_NODES));
  app.get("/fleet/:cluster/nodes/:node", node);
  const vm = live((visit, c) => vmPage(visit, vmIn(c)));
  app.get("/fleet/:cluster/vms/:namespace/:name", vm);
  for (const name of ACTS) {
    const path = `/fleet/:cluster/vms/:namespace/:name/${name}`;
    app.post(path, async (c) => act(c, await visitOf(c), { act: name, key: vmIn(c) }));
    // Where they come back to once they have signed in again.
    app.get(path, async (c) => c.redirect(vmPath((await visitOf(c)).target.name, vmIn(c)), 303));
  }
  for (const asset of Object.values(ASSETS)) app.get(asset.path, (c) => serve(c, asset));
  app.notFound((c) => answerError(c, new RejectionError("NotFound"), platform));
  app.onError((error, c) => answerError(c, error, platform));
  return app;
}

/** What a cluster has said is for this visitor only, and old at once. Styles and scripts have names of their own contents. */
async function neverStored(c: PageContext, next: () => Promise<void>): Promise<void> {
  await next();
  if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
}

/**
 * Rejects what another page sends with the visitor's cookie. Every browser that keeps `__Host-` cookies sends at least one of the
 * two headers with a POST, and no page can set them. Behind `kubectl port-forward` the own origin is that of the forwarded port.
 */
async function ownFormsOnly(c: PageContext, next: () => Promise<void>): Promise<void> {
  if (c.req.method === "POST") {
    const origin = c.req.header("origin");
    const isOwn = c.req.header("sec-fetch-site") === "same-origin" || origin === new URL(c.req.url).origin;
    if (!isOwn) throw new RejectionError("CrossOrigin");
    const [type = ""] = (c.req.header("content-type") ?? "").split(";");
    if (type.trim().toLowerCase() !== "application/x-www-form-urlencoded")
      throw new RejectionError("UnsupportedMediaType", { message: "expected application/x-www-form-urlencoded" });
  }
  await next();
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
