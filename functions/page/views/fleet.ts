/** The fleet: what is under way in each cluster, and what is wrong there. */
import { html } from "hono/html";
import type { Glance, Glances, Past, Summary } from "../glance.ts";
import { MOST_CLUSTERS, type OpenClusters } from "../open-clusters.ts";
import type { ClusterProblem } from "../parts/cluster-problems.ts";
import { badge, commandLine, phaseBadge } from "../parts/components.ts";
import { counted, fleetVerdict, inOrder, needyOf, stateOf, underWayOf } from "../parts/fleet-words.ts";
import { ago, sentence, told, visible } from "../parts/text.ts";
import type { LeftNode } from "../parts/under-way.ts";
import { clusterPath, nodePath, signInPath } from "../paths.ts";
import type { Html, LivePage, Seen } from "../visit.ts";

/** Nodes and problems that a card names; the cluster's page has all of them. */
const MOST_NODES = 5;
const MOST_PROBLEMS = 3;

type Fleet = ReadonlyMap<string, Glance>;

export function fleetPage({ visits, closed, more }: OpenClusters, glances: Glances): LivePage<Fleet> {
  const targets = visits.map(({ target }) => target);
  return {
    key: `fleet ${JSON.stringify(targets.map(({ name }) => name))}`,
    title: "Fleet",
    maxAgeMs: 1000,
    read: () => glances.at(targets),
    view: (fleet, seen) =>
      html`<h1>Fleet</h1>
        <p class="lead">${fleetVerdict(fleet)}</p>
        <ul class="cards">
          ${inOrder(fleet).map(([name, glance]) => clusterCard(name, glance, seen))}
        </ul>
        ${leftOut(closed, more)}
        <section>
          <h2>From a terminal</h2>
          <p>For one cluster, with its kubeconfig:</p>
          ${commandLine("lifeboat evacuations -A")} ${commandLine("lifeboat doctor")}
        </section>`,
  };
}

function clusterCard(name: string, glance: Glance, { now }: Seen): Html {
  const { mood, word } = stateOf(glance);
  return html`<li class="card" data-key="${visible(name)}">
    <h2><a href="${clusterPath(name)}">${visible(name)}</a> ${badge(word, mood)}</h2>
    ${glance.result === "Reached" ? summaryOf(name, glance.summary) : unread(name, glance, now)}
  </li>`;
}

function unread(name: string, glance: Exclude<Glance, { result: "Reached" }>, now: Date): Html {
  const why =
    glance.result === "Unreachable"
      ? html`<p>${sentence(glance.why)}</p>
          ${commandLine("lifeboat doctor")}`
      : html`<p>The other clusters took so long that there was no time to ask this one. It comes first next time.</p>`;
  return html`${why} ${glance.last === undefined ? "" : pastOf(name, glance.last, now)}`;
}

function pastOf(name: string, { summary, readAt }: Past, now: Date): Html {
  return html`<p class="muted">What was true ${ago(readAt, now)}:</p>
    ${summaryOf(name, summary)}`;
}

function summaryOf(name: string, summary: Summary): Html {
  const { phases, nodes, problems, vms } = summary;
  const needy = needyOf(summary);
  const [first, rest] = [problems.slice(0, MOST_PROBLEMS), problems.length - MOST_PROBLEMS];
  return html`${first.map(problemPart)}
    ${rest > 0 ? html`<p><a href="${clusterPath(name)}">${counted(rest, "more problem")}</a></p>` : ""}
    <dl class="facts">
      <div>
        <dt>Under way</dt>
        <dd>
          ${underWayOf(summary) === 0 ? "nothing" : [...phases].map(([phase, n]) => html`<div>${phaseBadge(phase, n)}</div>`)}
        </dd>
      </div>
      ${needy === 0 ? "" : fact("Waits for a person", counted(needy, "VM"))}
      ${nodes.length === 0 ? "" : fact("VMs are leaving", nodeLinks(name, nodes))}
      ${vms === undefined ? "" : fact("VMs that run", String(vms))} ${versionFacts(summary)}
    </dl>`;
}

/** What is only not known is told in full by the cluster's page. */
function problemPart({ mood, title, message }: ClusterProblem): Html {
  if (mood === "warn") return html`<p class="muted">${title}.</p>`;
  return html`<div class="notice ${mood}">
    <p><strong>${title}.</strong> ${told(message)}</p>
  </div>`;
}

function fact(term: string, value: Html | string): Html {
  return html`<div>
    <dt>${term}</dt>
    <dd>${value}</dd>
  </div>`;
}

function nodeLinks(cluster: string, nodes: readonly LeftNode[]): Html {
  const more = nodes.length - MOST_NODES;
  const links = nodes.slice(0, MOST_NODES).map(({ name, leaving }, i) => {
    return html`${i === 0 ? "" : ", "}<a href="${nodePath(cluster, name)}">${visible(name)}</a>
      (${counted(leaving, "VM")})`;
  });
  return html`${links}${more > 0 ? html` and <a href="${clusterPath(cluster)}">${counted(more, "more node")}</a>` : ""}`;
}

function versionFacts({ versions: { kubernetes, kubevirt } }: Summary): Html | "" {
  const said = [
    ...(kubernetes === undefined ? [] : [`Kubernetes 1.${kubernetes}`]),
    ...(kubevirt === undefined ? [] : [`KubeVirt 1.${kubevirt}`]),
  ];
  return said.length === 0 ? "" : fact("Versions", said.join(", "));
}

function leftOut(closed: readonly string[], more: number): Html {
  const isTooMany = html`<p class="muted">
    You have signed in to ${counted(more, "more cluster")}: this page shows ${MOST_CLUSTERS} of them.
  </p>`;
  const again = html`<p class="muted">
    You are not signed in any more to ${visible(closed.join(", "))}. <a href="${signInPath("/")}">Sign in again</a>
  </p>`;
  return html`${closed.length > 0 ? again : ""} ${more > 0 ? isTooMany : ""}
    <p class="acts"><a href="${signInPath("/")}">Sign in to another cluster</a></p>`;
}
