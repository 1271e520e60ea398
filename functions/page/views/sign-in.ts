/** Where a visitor says who they are. */
import { html } from "hono/html";
import { commandLine, type Html, notice, visible } from "../components.ts";
import { layout } from "../layout.ts";
import { FLEET_PATH } from "../links.ts";

/** Never the token, nor whether there is such a cluster. */
export type Failure =
  | { readonly code: 400; readonly reason: "NoToken" | "NoCluster" | "TooMany" }
  | { readonly code: 401; readonly reason: "Unknown" | "NotForPage" }
  | { readonly code: 403; readonly reason: "MayNotLook"; readonly name: string };

export interface SignInView {
  /** What is in the field; undefined: there is one cluster only, and no field. */
  readonly cluster: string | undefined;
  /** The page to come back to. */
  readonly to: string;
  readonly failure: Failure | undefined;
}

// prettier-ignore
const WHY: Readonly<Record<Failure["reason"], readonly [title: string, words: string]>> = {
  NoToken:    ["No token", "Enter the token that opens the cluster."],
  NoCluster:  ["No cluster", "Enter the name of the cluster, as Lifeboat's configuration has it."],
  TooMany:    ["The cookie is full", "Your browser keeps 4 KB, and holds as many clusters as fit. Sign out first, then sign in to the ones you need."],
  NotForPage: ["That token is not for this page", "Its audience has to be lifeboat, and nothing else: a token that opens an API server has no business here."],
  Unknown:    ["That did not open it", "There is no such cluster, or the token is not one of its tokens or has ended, or the cluster cannot be asked about it now. The log of Lifeboat says more."],
  MayNotLook: ["You may not look", "You may not list evacuations, nodes, pods and virtual machine instances in the whole cluster."],
};

export function signInPage({ cluster, to, failure }: SignInView): Html {
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
            Signed in already? A link from another site does not carry that along:
            <a href="${to}">go on to the page</a>.
          </p>`
    }
    <section>
      <h2>Where to get a token</h2>
      <p>
        Make one for this page, of an account that may list evacuations, nodes, pods and virtual machine instances in
        the whole cluster (ClusterRole <code>lifeboat-page</code>). Who may create and patch evacuations
        (<code>lifeboat-operator</code>) may act here, too.
      </p>
      ${commandLine("kubectl create token ACCOUNT -n NAMESPACE --audience lifeboat")}
      <p class="muted">It is exchanged for a cookie that ends after an hour, or with the token.</p>
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
    failure.reason === "MayNotLook" ? html`The cluster knows you as <bdi>${visible(failure.name)}</bdi>.` : "";
  return notice("bad", html`<p><strong>${title}.</strong> ${words} ${who}</p>`);
}
