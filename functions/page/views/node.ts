/** A node: how far its emptying is, what is in the way, each VM; or what a drain of it would come to. */
import { html } from "hono/html";
import { timeLeft } from "../../../shared/policy/preflight/duration.ts";
import { type NodeView, readNode, type Forecast } from "../node-reads.ts";
import { blockerList } from "../parts/blocker-list.ts";
import { badge, commandLine, crumbs, type Fact, factList } from "../parts/components.ts";
import { counted } from "../parts/fleet-words.ts";
import { leadOf, stateOf } from "../parts/node-words.ts";
import { CAUSE_WORDS } from "../parts/phase-words.ts";
import { preflightPart } from "../parts/preflight.ts";
import { ago, shellLine, told, visible } from "../parts/text.ts";
import { goneRows, vmRows } from "../parts/vm-rows.ts";
import { clusterPath } from "../paths.ts";
import type { RecentReads } from "../recent.ts";
import type { Html, LivePage, Seen, Visit } from "../visit.ts";

export function nodePage({ target }: Visit, name: string, forecasts: RecentReads<Forecast>): LivePage<NodeView> {
  return {
    key: `node ${name}`,
    title: name,
    maxAgeMs: 2000,
    read: () => readNode(name, target, forecasts),
    view: nodeView,
  };
}

function nodeView(view: NodeView, seen: Seen): Html {
  const { node, progress, blockers } = view;
  const { cluster } = seen;
  const { here } = progress;
  const isEmptying = progress.state === "Emptying";
  return html`${crumbs([cluster, clusterPath(cluster)], [node.name])}
    <h1>${visible(node.name)} ${badge(...stateOf(progress, blockers))}</h1>
    <p class="lead">${leadOf(progress, blockers)}</p>
    ${isEmptying ? bar(progress) : ""} ${isEmptying ? factList(factsOf(view, seen.now)) : ""}
    ${
      blockers.length === 0
        ? ""
        : html`<section>
            <h2>${isEmptying ? "What is in the way" : "What would be in the way of a drain"}</h2>
            ${blockerList(blockers, node.name, cluster)}
          </section>`
    }
    ${here.length === 0 ? nothingHere(progress, node.name) : vmsHere(view, seen)} ${whatHasLeft(progress, seen)}
    ${preflightPart(view, seen.now)}`;
}

function bar({ here, gone }: NodeView["progress"]): Html {
  const total = here.length + gone.length;
  return html`<div class="progress">
    <strong>${gone.length} of ${total} gone</strong>
    <progress value="${gone.length}" max="${Math.max(1, total)}" aria-label="VMs that have left"></progress>
  </div>`;
}

function factsOf({ progress, preflight, node }: NodeView, now: Date): readonly Fact[] {
  const { causes, requestedBy, since, here, gone, pods } = progress;
  const left = here.filter(({ row }) => row.mood !== "blocked").length;
  const elapsedSeconds = since === undefined ? 0 : (now.getTime() - since) / 1000;
  const time = timeLeft(preflight.time, { moved: gone.length, left, elapsedSeconds });
  return [
    ["Because of", causes.map((cause) => CAUSE_WORDS[cause]).join(", ")],
    ["Asked by", told(requestedBy.join(", "))],
    ["Since", since === undefined ? "" : ago(new Date(since), now)],
    ["Time left", time === undefined ? "" : html`${time}${left < here.length ? " for those that can leave" : ""}`],
    ["Other pods", pods.length === 0 ? "" : `${counted(pods.length, "pod")} to evict`],
    ["Node", node.unschedulable ? "cordoned: takes no new pods" : "takes new pods"],
  ];
}

function vmsHere({ progress, maxAttempts }: NodeView, { cluster, now, visitor }: Seen): Html {
  return html`<section>
    <h2>
      ${progress.state === "Emptying" ? "Still here" : "VMs on this node"}
      <span class="muted">${progress.here.length}</span>
    </h2>
    ${vmRows(progress.here, { cluster, now, mayAct: visitor.mayAct, maxAttempts })}
    ${commandLine(`lifeboat evacuations -A -w`)}
  </section>`;
}

function nothingHere({ state }: NodeView["progress"], node: string): Html {
  if (state !== "Emptied") return html`<div class="empty"><p>No VM runs here.</p></div>`;
  return html`<div class="empty">
    <p>Every VM has left. When the work on the node is done, let it take pods again:</p>
    ${commandLine(shellLine("kubectl", "uncordon", node))}
  </div>`;
}

function whatHasLeft({ gone }: NodeView["progress"], { cluster, now }: Seen): Html | "" {
  if (gone.length === 0) return "";
  return html`<section>
    <h2>Have left lately <span class="muted">${gone.length}</span></h2>
    ${goneRows(gone.slice(0, MOST_GONE), { cluster, now })}
    ${gone.length > MOST_GONE ? html`<p class="muted">${gone.length - MOST_GONE} more.</p>` : ""}
    ${commandLine("kubectl get evacuations -A -o wide")}
  </section>`;
}

const MOST_GONE = 50;
