/** The pages for people: which address shows what, to whom. */
import { getCookie } from "hono/cookie";
import { HonoBase } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import { secureHeaders } from "hono/secure-headers";
import type { NamespacedName } from "../../shared/policy/facts.ts";
import type { Env, Platform } from "../env.ts";
import { RejectionError } from "../rejection.ts";
import type { IsolateState } from "../target.ts";
import { askBefore, perform } from "./acts.ts";
import { AccessVisitors, ASSERTION } from "./access.ts";
import { type Asset, ASSETS } from "./assets/assets.ts";
import type { Census } from "./cluster-reads.ts";
import { type Glance, Glances } from "./glance.ts";
import type { Forecast } from "./node-reads.ts";
import { openClusters, type Presented, visitTo } from "./open-clusters.ts";
import { ACTS, clusterPath } from "./paths.ts";
import { RecentReads } from "./recent.ts";
import { COOKIE, openCookie } from "./session.ts";
import { show } from "./show.ts";
import { signingIn } from "./sign-in.ts";
import { clusterPage } from "./views/cluster.ts";
import { answerError } from "./views/error.ts";
import { fleetPage } from "./views/fleet.ts";
import { nodePage } from "./views/node.ts";
import { vmPage } from "./views/vm.ts";
import type { LivePage, PageContext, Visit } from "./visit.ts";

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

export function createPages(platform: Platform, state: IsolateState): HonoBase<{ Bindings: Env }> {
  const app = new HonoBase<{ Bindings: Env }>({ router: new TrieRouter() });

  const access = new AccessVisitors(platform);
  const presentedIn = async (c: PageContext): Promise<Presented> => ({
    cookie: await openCookie(getCookie(c, COOKIE), c.env),
    access: await access.find(c.req.header(ASSERTION), c.env),
  });
  const visitOf = async (c: PageContext): Promise<Visit> => {
    return await visitTo(c.req.param("cluster") ?? "", await presentedIn(c), { env: c.env, platform, state });
  };
  const live = <F>(page: (visit: Visit, c: PageContext) => LivePage<F>, recent = new RecentReads<F>()) => {
    return async (c: PageContext) => {
      const visit = await visitOf(c);
      return await show(c, page(visit, c), { visit, recent });
    };
  };

  const census = new RecentReads<Census>();
  /** A visitor with one cluster is led to it. */
  const glances = new Glances();
  const fleets = new RecentReads<ReadonlyMap<string, Glance>>();
  const fleet = async (c: PageContext) => {
    const open = await openClusters(await presentedIn(c), { env: c.env, platform, state });
    const [first, ...others] = open.visits;
    if (first !== undefined && others.length === 0) return c.redirect(clusterPath(first.target.name), 303);
    const visitor = { name: first?.visitor.name ?? "", mayAct: false };
    return await show(c, fleetPage(open, glances), {
      visit: { target: { name: "", platform }, visitor },
      recent: fleets,
    });
  };

  app.use(secureHeaders(HEADERS), neverStored);
  const { ask, signIn, signOut } = signingIn({ platform, state });
  app.get("/signin", ask).post(signIn);
  app.post("/signout", signOut);
  app.get("/", fleet);
  app.get(
    "/fleet/:cluster",
    live((visit) => clusterPage(visit, census)),
  );
  app.get(
    "/fleet/:cluster/vms/:namespace/:name",
    live((visit, c) => vmPage(visit, vmIn(c))),
  );
  for (const act of ACTS) {
    const path = `/fleet/:cluster/vms/:namespace/:name/${act}`;
    app.get(path, async (c) => askBefore(c, await visitOf(c), { act, key: vmIn(c) }));
    app.post(path, async (c) => perform(c, await visitOf(c), { act, key: vmIn(c) }));
  }
  const forecasts = new RecentReads<Forecast>();
  app.get(
    "/fleet/:cluster/nodes/:node",
    live((visit, c) => nodePage(visit, c.req.param("node") ?? "", forecasts), new RecentReads(MOST_NODES)),
  );
  app.notFound((c) => answerError(c, new RejectionError("NotFound"), platform));
  app.onError((error, c) => answerError(c, error, platform));
  for (const asset of Object.values(ASSETS)) app.get(asset.path, (c) => serve(c, asset));
  return app;
}

/** What a cluster has told is for this visitor only, and old at once. Styles and scripts have names of their own contents. */
async function neverStored(c: PageContext, next: () => Promise<void>): Promise<void> {
  await next();
  if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
}

function vmIn(c: PageContext): NamespacedName {
  return { namespace: c.req.param("namespace") ?? "", name: c.req.param("name") ?? "" };
}

function serve(c: PageContext, { type, content }: Asset): Response {
  return c.body(content, 200, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" });
}
