/** A cluster: the nodes that are being emptied, what needs a person, what goes on, and every node. */
import { html } from "hono/html";
import { strategyInForce } from "../../../shared/pass/explanation.ts";
import { type EvacuationFacts, keyOf, type VmiFacts } from "../../../shared/policy/facts.ts";
import { REMEDY } from "../../../shared/policy/preflight/remedies.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { secondsUntil } from "../../../shared/policy/time.ts";
import { type Census, type ClusterView, readCluster } from "../cluster-reads.ts";
import { commandLine } from "../parts/command.ts";
import { crumbs } from "../parts/crumbs.ts";
import { evacuationRows, move, nodeLink, vmLink } from "../parts/evacuation-rows.ts";
import { counted } from "../parts/fleet-words.ts";
import { nodeRows } from "../parts/node-rows.ts";
import { badge, phaseBadge } from "../parts/phase.ts";
import { CAUSE_WORDS, PHASE_WORDS, whoCanChange } from "../parts/phase-words.ts";
import { problemList } from "../parts/problem-list.ts";
import { sentence } from "../parts/sentence.ts";
import { shellLine, told, visible } from "../parts/text.ts";
import { ago, lasting } from "../parts/time.ts";
import { type Sorted, sortEvacuations } from "../parts/under-way.ts";
import { configurationPath, vmPath } from "../paths.ts";
import type { RecentReads } from "../recent.ts";
import type { Html, LivePage, Seen, Visit } from "../visit.ts";

const MOST_NEEDY = 50;
const MOST_GOING_ON = 200;
const MOST_ENDED = 50;

export function clusterPage({ target }: Visit, census: RecentReads<Census>): LivePage<ClusterView> {
  return {
    key: "cluster",
    title: target.name,
    maxAgeMs: 2000,
    read: () => readCluster(target, census),
    view: clusterView,
  };
}

function clusterView(view: ClusterView, { cluster, now }: Seen): Html {
  const sorted = sortEvacuations(view.evacuations);
  const list: Place = { cluster, now };
  return html`${crumbs([cluster])}
    <h1>${visible(cluster)}</h1>
    <p class="lead">${verdict(view, sorted)}</p>
    ${problemList(view.problems)} ${leftNodeRows(view, cluster, now)} ${needyList(sorted.needy, view, list)}
    <section>
      <h2>Under way</h2>
      ${
        sorted.goingOn.length === 0
          ? empty(sorted.needy.length === 0 ? "No VM is leaving its node." : "Nothing else is under way.")
          : evacuationRows({
              ...list,
              caption: "VMs that leave their node, or are about to",
              evacuations: sorted.goingOn,
              most: MOST_GOING_ON,
            })
      }
      ${commandLine("lifeboat evacuations -A -w")}
    </section>
    <section>
      <h2>Ended lately</h2>
      ${
        sorted.ended.length === 0
          ? empty("No evacuation has ended lately.")
          : evacuationRows({ ...list, caption: kept(view), evacuations: sorted.ended, most: MOST_ENDED })
      }
      ${commandLine("kubectl get evacuations -A -o wide")}
    </section>
    <section>
      <h2>Nodes</h2>
      ${nodeRows(cluster, view.census, view.settings)} ${commandLine("kubectl get nodes")}
    </section>
    <section>
      <h2>Lifeboat in this cluster</h2>
      <p><a href="${configurationPath(cluster)}">Configuration as in force</a></p>
      ${commandLine("lifeboat doctor")}
    </section>`;
}

type Place = Pick<Seen, "cluster" | "now">;

function kept({ settings }: ClusterView): Html {
  return html`Kept for ${lasting(settings.evacuation.historySeconds)}; the newest of a pod as long as the pod exists`;
}

function verdict({ leftNodes, census, problems }: ClusterView, { needy, goingOn }: Sorted): string {
  const emptying = leftNodes.filter(({ leaving, staying }) => leaving > 0 || staying !== 0).length;
  const attention = needy.length + heldFastOf(leftNodes).length;
  const wrong = problems.filter(({ mood }) => mood === "bad").length;
  const said = [
    ...(wrong > 0 ? [`Lifeboat has ${counted(wrong, "problem")} here`] : []),
    ...(attention > 0 ? [`${counted(attention, "VM")} ${attention === 1 ? "needs" : "need"} attention`] : []),
    ...(emptying > 0 ? [`${counted(emptying, "node")} ${emptying === 1 ? "is" : "are"} being emptied`] : []),
    ...(goingOn.length > 0
      ? [`${counted(goingOn.length, "VM")} ${goingOn.length === 1 ? "is" : "are"} on the move`]
      : []),
  ];
  const vms = census.vms === undefined ? "" : `${counted(census.vms, "VM")} on `;
  const size = `${vms}${counted(census.nodes.length, "node")}`;
  return said.length === 0 ? `All is quiet: ${size}.` : `${said.join(", ")}. ${size}.`;
}

function empty(text: string): Html {
  return html`<div class="empty"><p>${text}</p></div>`;
}

function leftNodeRows({ leftNodes }: ClusterView, cluster: string, now: Date): Html | "" {
  if (leftNodes.length === 0) return "";
  return html`<section>
    <h2>Nodes being emptied</h2>
    <table class="rows">
      <caption>
        What blocks, and how far each VM is: on the page of the node
      </caption>
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col">VMs gone</th>
          <th scope="col">Blocked</th>
          <th scope="col">Because of</th>
          <th scope="col">Since</th>
        </tr>
      </thead>
      <tbody>
        ${leftNodes.map((node) => leftNodeRow(node, cluster, now))}
      </tbody>
    </table>
    ${commandLine(shellLine("lifeboat", "explain", "node", leftNodes[0]?.name ?? ""))}
  </section>`;
}

function leftNodeRow(node: ClusterView["leftNodes"][number], cluster: string, now: Date): Html {
  const { name, causes, requestedBy, since } = node;
  const blocked = node.blocked + node.heldFast.length;
  return html`<tr data-key="${visible(name)}">
    <th scope="row">${nodeLink(cluster, name)}</th>
    <td data-label="VMs gone">${gone(node)}</td>
    <td data-label="Blocked">${blocked === 0 ? "" : badge(`${blocked} blocked`, "bad")}</td>
    <td data-label="Because of">
      ${causes.map((cause) => CAUSE_WORDS[cause]).join(", ")}
      ${requestedBy.length === 0 ? "" : html`<span class="muted">asked by ${told(requestedBy.join(", "))}</span>`}
    </td>
    <td data-label="Since">${ago(new Date(since), now)}</td>
  </tr>`;
}

/** Where it is not known how many are still there, those that are under way count. */
function gone({ name, gone: left, leaving, staying }: ClusterView["leftNodes"][number]): Html {
  const there = Math.max(staying ?? leaving, leaving);
  const total = left + there;
  const text = `${left} of ${total}${staying === undefined ? " or more" : ""}`;
  return html`<span class="progress"
    ><progress value="${left}" max="${Math.max(total, 1)}" aria-label="VMs gone from ${visible(name)}"></progress>
    ${text}</span
  >`;
}

function needyList(needy: readonly EvacuationFacts[], { leftNodes, settings }: ClusterView, seen: Place): Html | "" {
  const heldFast = heldFastOf(leftNodes);
  if (needy.length + heldFast.length === 0) return "";
  const items = [
    ...heldFast.map((vmi) => () => heldFastItem(vmi, settings, seen.cluster)),
    ...needy.map((one) => () => needyItem(one, seen)),
  ];
  const more = items.length - MOST_NEEDY;
  return html`<section>
    <h2>Needs attention</h2>
    <ul class="blockers">
      ${items.slice(0, MOST_NEEDY).map((item) => item())}
    </ul>
    ${more > 0 ? html`<p class="muted">${more} more: the pages of the nodes name all.</p>` : ""}
  </section>`;
}

function heldFastOf(leftNodes: ClusterView["leftNodes"]): readonly VmiFacts[] {
  return leftNodes.flatMap(({ heldFast }) => heldFast);
}

/** No Evacuation tells of it: each eviction is refused. */
function heldFastItem(vmi: VmiFacts, settings: Settings, cluster: string): Html {
  const { migratable, reason = "", message = "" } = vmi.liveMigratable;
  const strategy = strategyInForce(vmi, settings);
  const why = migratable
    ? html`KubeVirt knows no eviction strategy ${told(strategy)}`
    : html`it cannot live-migrate (${told(reason || message)}), and its eviction strategy is ${told(strategy)}`;
  const remedy = migratable ? REMEDY.UnknownStrategy : REMEDY.NotMigratable;
  return html`<li data-key="${vmi.uid}">
    <p>
      <strong><a href="${vmPath(cluster, vmi)}">${visible(keyOf(vmi))}</a></strong> ${badge("Blocked", "bad")}
      ${move(cluster, vmi.nodeName, undefined)}
    </p>
    <p>The VM stays on a node that is to be emptied: ${why}.</p>
    <p>Who can change it: ${remedy}.</p>
    ${commandLine(shellLine("kubectl", "describe", "vmi", vmi.name, "-n", vmi.namespace))}
  </li>`;
}

function needyItem(one: EvacuationFacts, { cluster, now }: Place): Html {
  const { namespace, spec, status } = one;
  const phase = status.phase ?? "Pending";
  const who = whoCanChange(phase, status.reason);
  return html`<li data-key="${one.uid}">
    <p>
      <strong>${vmLink(cluster, one)}</strong> ${phaseBadge(phase)} ${move(cluster, status.sourceNode, undefined)}
      <span class="muted">${CAUSE_WORDS[spec.cause]}, ${ago(new Date(one.createdAt), now)}</span>
    </p>
    <p>The VM ${PHASE_WORDS[phase].means}${attempts(one, now)}. ${told(sentence(status.message ?? ""))}</p>
    ${who === undefined ? "" : html`<p>Who can change it: ${who}.</p>`}
    ${commandLine(shellLine("kubectl", "describe", "evacuation", one.name, "-n", namespace))}
  </li>`;
}

function attempts({ status: { attempts: failed, nextAttemptTime } }: EvacuationFacts, now: Date): Html | "" {
  if (failed === 0) return "";
  const left = secondsUntil(nextAttemptTime, now);
  const next = left > 0 ? html`, the next in ${lasting(left)}` : "";
  return html` (${counted(failed, "failed attempt")}${next})`;
}
