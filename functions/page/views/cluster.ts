/** A cluster: the nodes that are being emptied, what needs a person, what goes on, and every node. */
import { html } from "hono/html";
import { type Census, type ClusterView, readCluster } from "../cluster-reads.ts";
import { attentionList, heldFastOf } from "../parts/attention-list.ts";
import { commandLine, crumbs, problemList } from "../parts/components.ts";
import { evacuationRows } from "../parts/evacuation-rows.ts";
import { counted } from "../parts/fleet-words.ts";
import { leftNodeRows, nodeRows } from "../parts/node-rows.ts";
import { lasting, visible } from "../parts/text.ts";
import { type Sorted, sortEvacuations } from "../parts/under-way.ts";
import type { RecentReads } from "../recent.ts";
import type { Html, LivePage, Seen, Visit } from "../visit.ts";

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
    ${problemList(view.problems)} ${leftNodeRows(view, list)} ${attentionList(sorted.needy, view, list)}
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
      ${commandLine("lifeboat doctor")}
    </section>`;
}

type Place = Pick<Seen, "cluster" | "now">;

function kept({ settings }: ClusterView): Html {
  return html`Kept for ${lasting(settings.evacuation.historySeconds)}; the newest of a pod as long as the pod exists`;
}

function verdict({ leftNodes, census, problems }: ClusterView, { needy, goingOn }: Sorted): string {
  const emptying = leftNodes.filter(
    ({ since, leaving, staying }) => since !== undefined && (leaving > 0 || staying !== 0),
  ).length;
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
