/** Where a visitor says who they are. */
import { html } from "hono/html";
import { layout } from "../layout.ts";
import { commandLine, notice } from "../parts/components.ts";
import { visible } from "../parts/text.ts";
import { fleetPath } from "../paths.ts";
import type { Html } from "../visit.ts";

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

export function signInPage({ cluster, to, failure }: SignInView): Html {
  const main = html`<h1>Sign in</h1>
    <p class="lead">This page shows which virtual machines leave their nodes, and what is in their way.</p>
    ${failure === undefined ? "" : notice("bad", failureWords(failure))}
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
      to === fleetPath()
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

function failureWords(failure: Failure): Html {
  switch (failure.reason) {
    case "NoToken":
      return html`<p><strong>No token.</strong> Enter the token that opens the cluster.</p>`;
    case "NoCluster":
      return html`<p>
        <strong>No cluster.</strong> Enter the name of the cluster, as Lifeboat's configuration has it.
      </p>`;
    case "TooMany":
      return html`<p>
        <strong>The cookie is full.</strong> Your browser keeps 4 KB, and holds as many clusters as fit. Sign out first,
        then sign in to the ones you need.
      </p>`;
    case "NotForPage":
      return html`<p>
        <strong>That token is not for this page.</strong> Its audience has to be <code>lifeboat</code>, and nothing
        else: a token that opens an API server has no business here.
      </p>`;
    case "Unknown":
      return html`<p>
        <strong>That did not open it.</strong> There is no such cluster, or the token is not one of its tokens or has
        ended, or the cluster cannot be asked about it now. The log of Lifeboat says more.
      </p>`;
    case "MayNotLook":
      return html`<p>
          <strong>You may not look.</strong> The cluster knows you as <bdi>${visible(failure.name)}</bdi>, who may not
          list evacuations, nodes, pods and virtual machine instances in the whole cluster.
        </p>
        ${commandLine("kubectl auth can-i list evacuations.lifeboat.dev -A")}`;
  }
}
