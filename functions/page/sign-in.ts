/** Signs visitors in and out. The visitor presents a token, and the cluster's API server reviews the token. */
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import type { Client } from "../../shared/kube/client.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import { expiryOf, isAllowed, isOnlyFor, userOfToken } from "../../shared/kube/reviews.ts";
import type { Right } from "../../shared/kube/right.ts";
import type { ReviewedUser } from "../../shared/kube/schemas/kubernetes.ts";
import { RejectionError } from "../errors.ts";
import { clusterNames, findEntry, type Surroundings, targetOf } from "../target.ts";
import { clusterPath, commandLine, FLEET_PATH, type Html, notice, visible } from "./components.ts";
import { layout } from "./layout.ts";
import { COOKIE, isTooLong, openCookie, type PageContext, sealCookie, signGrant, withGrant } from "./session.ts";

const ATTRIBUTES = { path: "/", secure: true, httpOnly: true, sameSite: "Strict" } as const;
/**
 * The audience of tokens for the page. The page rejects a token with another audience, and never sends such a token to
 * the API server.
 */
const AUDIENCE = "lifeboat";
/**
 * The length of a session, in seconds. Lifeboat asks the API server only at the start of a session. If a permission is
 * withdrawn, the visitor loses access when the session ends.
 */
const SESSION_SECONDS = 3600;
const REVIEW_SECONDS = 5;
/**
 * The maximum number of parallel token reviews for a cluster. Without a limit, anybody could make Lifeboat send any
 * number of reviews to the API server.
 */
const MOST_REVIEWS = 20;

const list = (group: string, resource: string): Right => ({ verb: "list", group, resource });
const MAY_VIEW: readonly Right[] = [
  list("lifeboat.dev", "evacuations"),
  list("lifeboat.dev", "nodeevacuations"),
  list("lifeboat.dev", "rollingmaintenances"),
  list("", "nodes"),
  list("", "pods"),
  list("kubevirt.io", "virtualmachineinstances"),
];

interface Asked {
  /** The name of the cluster that the visitor entered, or an empty string. */
  readonly cluster: string;
  readonly to: string;
}

export function signingIn(around: (c: PageContext) => Surroundings) {
  const asking = new Map<string, number>();
  const page = async (c: PageContext, asked: Asked, failure?: Failure) => {
    const only = await onlyCluster(around(c));
    const cluster = asked.cluster === "" ? (clusterIn(asked.to) ?? "") : asked.cluster;
    const view = { cluster: only === undefined ? cluster : undefined, to: asked.to, failure };
    return c.html(await signInPage(view), failure?.code ?? 200);
  };

  const enter = async (c: PageContext, asked: Asked, { cluster, token }: { cluster: string; token: string }) => {
    const { env, platform } = around(c);
    const found = await review({ token, cluster, asking }, around(c));
    if ("code" in found) {
      platform.log({ level: "warn", cluster, message: "not signed in", ...found });
      return await page(c, asked, found);
    }
    platform.log({ level: "info", cluster, message: "signed in", visitor: found.name });
    const before = await openCookie(getCookie(c, COOKIE), env);
    const cookie = await sealCookie(withGrant(before, cluster, found.grant, platform.now()), env);
    if (isTooLong(cookie)) return await page(c, asked, { code: 400, reason: "CookieFull" });
    setCookie(c, COOKIE, cookie, { ...ATTRIBUTES, maxAge: SESSION_SECONDS });
    return c.redirect(asked.to === FLEET_PATH ? clusterPath(cluster) : asked.to, 303);
  };

  const signIn = async (c: PageContext) => {
    const form = new URLSearchParams(await c.req.text());
    const read = (field: string) => (form.get(field) ?? "").trim();
    const [token, asked] = [read("token"), { cluster: read("cluster"), to: pageOf(read("to")) }];
    const cluster = asked.cluster || (await onlyCluster(around(c)));
    if (token === "") return await page(c, asked, { code: 400, reason: "NoToken" });
    if (!isOnlyFor(AUDIENCE, token)) return await page(c, asked, { code: 401, reason: "NotForPage" });
    if (cluster === undefined) return await page(c, asked, { code: 400, reason: "NoCluster" });
    return await enter(c, asked, { cluster, token });
  };

  return {
    ask: (c: PageContext) => page(c, { cluster: "", to: pageOf(c.req.query("to") ?? "") }),
    signIn,
    signOut: (c: PageContext) => {
      deleteCookie(c, COOKIE, ATTRIBUTES);
      return c.redirect("/signin", 303);
    },
  };
}

type Reviewed = { readonly name: string; readonly grant: string } | Extract<Failure, { code: 401 | 403 | 429 }>;

interface Presented {
  readonly token: string;
  readonly cluster: string;
  readonly asking: Map<string, number>;
}

/** Asks the API server who the token's user is, and what the user may do. */
async function review({ token, cluster, asking }: Presented, surroundings: Surroundings): Promise<Reviewed> {
  const { platform } = surroundings;
  try {
    const entry = await findEntry(cluster, surroundings);
    const client = targetOf(cluster, entry, surroundings).connect(REVIEW_SECONDS);
    const before = asking.get(cluster) ?? 0;
    if (before >= MOST_REVIEWS) return { code: 429, reason: "TooMany" };
    asking.set(cluster, before + 1);
    const user = await userOfToken(token, AUDIENCE, client).finally(() =>
      asking.set(cluster, (asking.get(cluster) ?? 1) - 1),
    );
    if (user === undefined) return { code: 401, reason: "Unknown" };
    const name = user.username;
    if (!(await mayAll(MAY_VIEW, user, client))) return { code: 403, reason: "MayNotView", name };
    const now = Math.floor(platform.now().getTime() / 1000);
    const end = Math.floor((expiryOf(token)?.getTime() ?? Number.POSITIVE_INFINITY) / 1000);
    const grant = { cluster, name, until: Math.min(now + SESSION_SECONDS, end) };
    return { name, grant: await signGrant(grant, entry) };
  } catch (error) {
    if (!(error instanceof ClusterError || error instanceof RejectionError)) throw error;
    const doing = "reviewing a visitor's token";
    platform.log({ level: "warn", cluster, doing, message: error.message });
    return { code: 401, reason: "Unknown" };
  }
}

async function mayAll(rights: readonly Right[], user: ReviewedUser, cluster: Client): Promise<boolean> {
  return (await Promise.all(rights.map((right) => isAllowed(user, right, cluster)))).every(Boolean);
}

/**
 * Returns the name of the only cluster. Returns undefined for several clusters, because a visitor who has not signed in
 * must not learn their names.
 */
async function onlyCluster(surroundings: Surroundings): Promise<string | undefined> {
  const names = await clusterNames(surroundings);
  return names.length === 1 ? names[0] : undefined;
}

/** Returns the page to open after the sign-in. Returns the fleet's page for a path that could lead to another site. */
function pageOf(to: string): string {
  // Rejects `..`, `//` and backslashes, which could lead to another site.
  return /^\/fleet\/(?!.*(?:\/\/|\.\.|\\))[\x21-\x7e]+$/.test(to) ? to : FLEET_PATH;
}

function clusterIn(path: string): string | undefined {
  const [, cluster] = /^\/fleet\/([^/?#]+)/.exec(path) ?? [];
  try {
    return cluster === undefined ? undefined : decodeURIComponent(cluster);
  } catch {
    return undefined;
  }
}

/** Failures of signing in. A failure reveals neither the token nor whether the cluster exists. */
type Failure =
  | { readonly code: 400; readonly reason: "NoToken" | "NoCluster" | "CookieFull" }
  | { readonly code: 401; readonly reason: "Unknown" | "NotForPage" }
  | { readonly code: 403; readonly reason: "MayNotView"; readonly name: string }
  | { readonly code: 429; readonly reason: "TooMany" };

interface SignInView {
  readonly cluster: string | undefined;
  readonly to: string;
  readonly failure: Failure | undefined;
}

// prettier-ignore
const WHY: Readonly<Record<Failure["reason"], readonly [title: string, words: string]>> = {
  NoToken:    ["No token", "Enter a token of the cluster."],
  NoCluster:  ["No cluster", "Enter the name that the cluster has in Lifeboat's configuration."],
  CookieFull: ["The cookie is full", "Your browser keeps at most 4 KB of sign-ins. Sign out, then sign in to the clusters that you need."],
  NotForPage: ["That token is not for this page", "The token's only audience must be lifeboat. Do not enter a token for an API server. Create a token as shown below."],
  Unknown:    ["The token was not accepted", "There is no such cluster, the cluster does not accept the token, or Lifeboat cannot reach the cluster now. Lifeboat's log has the reason."],
  TooMany:    ["Too many people are signing in", "Try again in a moment."],
  MayNotView: ["You may not view this cluster", "You need permission to list evacuations, node evacuations, rolling maintenances, nodes, pods and virtual machine instances in the whole cluster."],
};

function signInPage({ cluster, to, failure }: SignInView): Html {
  const main = html`<h1>Sign in</h1>
    <p class="lead">This page shows which virtual machines leave their nodes, and what is in their way.</p>
    ${failure === undefined ? "" : failureNotice(failure)}
    <form class="sign-in" method="post" action="/signin" autocomplete="off">
      <input type="hidden" name="to" value="${to}" />
      ${cluster === undefined ? "" : clusterField(cluster)}
      <p>
        <label for="token">Token</label>
        <input id="token" name="token" type="password" required autocomplete="off" spellcheck="false" />
      </p>
      <p class="acts"><button type="submit">Sign in</button></p>
    </form>
    ${
      to === FLEET_PATH
        ? ""
        : html`<p class="muted">
            Are you signed in already? If you follow a link on another site, the browser does not send the sign-in
            cookie: <a href="${to}">open the page again</a>.
          </p>`
    }
    <section>
      <h2>Where to get a token</h2>
      <p>
        Create a token for this page. The token's account needs a ClusterRoleBinding to the ClusterRole
        <code>lifeboat-page</code>. This role allows the account to list evacuations, node evacuations, rolling
        maintenances, nodes, pods and virtual machine instances.
      </p>
      ${commandLine("kubectl create token ACCOUNT -n NAMESPACE --audience lifeboat")}
      <p class="muted">Lifeboat exchanges the token for a cookie, which expires after an hour or with the token.</p>
    </section>`;
  return layout({ title: "Sign in", main });
}

function clusterField(cluster: string): Html {
  return html`<p>
    <label for="cluster">Cluster</label>
    <input id="cluster" name="cluster" value="${visible(cluster)}" required autocomplete="off" spellcheck="false" />
  </p>`;
}

function failureNotice(failure: Failure): Html {
  const [title, words] = WHY[failure.reason];
  const who =
    failure.reason === "MayNotView" ? html`The cluster knows you as <bdi>${visible(failure.name)}</bdi>.` : "";
  return notice("bad", html`<p><strong>${title}.</strong> ${words} ${who}</p>`);
}
