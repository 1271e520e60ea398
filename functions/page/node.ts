/** A node: how far its emptying is, what is in the way, each VM; or what a drain of it would come to. */
import { html } from "hono/html";
import { isActive } from "../../shared/kube/evacuation.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import type { NodeVerdict } from "../../shared/preflight/facts.ts";
import type { Blocker, BlockerKind, NodeProgress, NodeState, VmProgress } from "../../shared/preflight/progress.ts";
import { isQueued, type Subject, targetOf } from "../../shared/preflight/subjects.ts";
import { timeLeft, timeText } from "../../shared/preflight/duration.ts";
import { secondsSince, secondsUntil } from "../../shared/settings/time.ts";
import {
  ago,
  badge,
  clusterPath,
  type Column,
  commandLine,
  counted,
  crumbs,
  type Fact,
  factList,
  fromTerminal,
  type Html,
  isolated,
  type Labelled,
  lasting,
  move,
  progressBar,
  section,
  sentence,
  shellLine,
  table,
  visible,
  vmLink,
  vmPath,
} from "./components.ts";
import { evacuationTable } from "./evacuations.ts";
import { type NodeView, readNode } from "./reads.ts";
import type { LivePage, Seen } from "./stream.ts";
import type { Visit } from "./visits.ts";
import { ACT_WORDS, actsOn, CAUSES, phaseBadge } from "./words.ts";

const MOST_VMS = 200;
const MOST_GONE = 50;

export function nodePage({ target }: Visit, name: string): LivePage<NodeView> {
  return { key: name, title: name, read: (last) => readNode(name, target, last), view: nodeView };
}

const STATES: Readonly<Record<NodeState, Labelled>> = {
  Emptying: ["Being emptied", "busy"],
  Emptied: ["Empty of VMs", "good"],
  Cordoned: ["Cordoned", "warn"],
  InUse: ["In use", "quiet"],
};

function nodeView(view: NodeView, seen: Seen): Html {
  const { node, progress, blockers } = view;
  const { cluster, now } = seen;
  const { state, here, gone } = progress;
  const isEmptying = state === "Emptying";
  const isStuck = isEmptying && blockers.some(({ kind }) => KINDS[kind][1] === "bad");
  const { name } = node;
  return html`${crumbs([cluster, clusterPath(cluster)], [name])}
    <h1>${visible(name)} ${badge(...(isStuck ? (["Being emptied, blocked", "bad"] as const) : STATES[state]))}</h1>
    <p class="lead">${leadOf(progress)}</p>
    ${isEmptying ? html`<div class="progress">${progressBar(gone.length, gone.length + here.length, "VMs that have left")}</div>` : ""}
    ${isEmptying ? factList(factsOf(view, now)) : ""}
    ${section(isEmptying ? "What is in the way" : "What would be in the way of a drain", blockers, (rows) => blockerList(rows, cluster))}
    ${section(isEmptying ? "Still here" : "VMs on this node", here, (rows) => vmTable(rows, view, seen))}
    ${state === "Emptied" ? whenEmpty(name) : ""}
    ${section("Have left lately", gone, (rows) => evacuationTable(rows, { cluster, now, most: MOST_GONE }))}
    ${preflightPart(view, now)}
    ${fromTerminal(
      shellLine("lifeboat", "explain", "node", name),
      shellLine("lifeboat", "drain", name),
      shellLine("kubectl", "drain", name, "--ignore-daemonsets", "--delete-emptydir-data"),
    )}`;
}

/** One line: what is happening. */
function leadOf({ state, here, gone, pods }: NodeProgress): string {
  const vms = here.length;
  switch (state) {
    case "Emptying": {
      const numberOf = (mood: string) => here.filter(({ row }) => row.mood === mood).length;
      const left = `${gone.length} of ${counted(gone.length + vms, "VM")} ${gone.length === 1 ? "has" : "have"} left this node`;
      return `${left}: ${numberOf("moving")} moving, ${numberOf("waiting")} waiting, ${numberOf("blocked")} blocked.`;
    }
    case "Emptied":
      return `No VM is left on this node${pods.length === 0 ? "" : `, but ${counted(pods.length, "other pod")}`}. The node takes no new pods.`;
    case "Cordoned":
      return `The node takes no new pods. Nothing asks its ${counted(vms, "VM")} to leave yet.`;
    case "InUse":
      return vms === 0 ? "No VM runs on this node." : `${counted(vms, "VM", ["runs", "run"])} on this node.`;
  }
}

function factsOf({ progress, preflight, node }: NodeView, now: Date): readonly Fact[] {
  const { causes, requestedBy, since, here, gone, pods } = progress;
  const left = here.filter(({ row }) => row.mood !== "blocked").length;
  const elapsedSeconds = since === undefined ? 0 : (now.getTime() - since) / 1000;
  const time = timeLeft(preflight.time, { moved: gone.length, left, elapsedSeconds });
  return [
    ["Because of", causes.map((cause) => CAUSES[cause]).join(", ")],
    ["Asked by", isolated(requestedBy.join(", "))],
    ["Since", since === undefined ? "" : ago(since, now)],
    ["Time left", time === undefined ? "" : html`${time}${left < here.length ? " for those that can leave" : ""}`],
    ["Other pods", pods.length === 0 ? "" : `${counted(pods.length, "pod")} to evict`],
    ["Node", node.unschedulable ? "cordoned: takes no new pods" : "takes new pods"],
  ];
}

const MOST_NAMED = 8;

const KINDS: Readonly<Record<BlockerKind, Labelled>> = {
  Blocked: ["Blocks", "bad"],
  NoRoom: ["No room elsewhere", "bad"],
  Waits: ["Waits", "warn"],
  ShutsDown: ["Will be shut down", "warn"],
};

function blockerList(blockers: readonly Blocker[], cluster: string): Html {
  return html`<ul class="blockers">
    ${blockers.map((one) => blockerItem(one, cluster))}
  </ul>`;
}

/** The same reason once, with all that it holds up. */
function blockerItem({ kind, reason, remedy, held }: Blocker, cluster: string): Html {
  const [word, mood] = KINDS[kind];
  const [first] = held;
  const areVms = held.every(({ subject }) => subject.verdict.vmi !== undefined);
  const what = held.length === 1 && first ? first.subject.key : counted(held.length, areVms ? "VM" : "pod");
  return html`<li class="${mood}">
    <h3>${badge(word, mood)} ${visible(reason)}: ${what}</h3>
    <ul>
      ${held.slice(0, MOST_NAMED).map(({ subject, message }) => html`<li>${nameOf(subject, cluster)}: ${isolated(message)}</li>`)}
      ${held.length > MOST_NAMED ? html`<li class="muted">and ${held.length - MOST_NAMED} more</li>` : ""}
    </ul>
    ${remedy === undefined ? "" : html`<p><strong>Who can change it:</strong> ${remedy}.</p>`}
  </li>`;
}

function nameOf({ verdict: { namespace, name, vmi } }: Subject, cluster: string): Html {
  return vmi === undefined ? html`pod ${visible(`${namespace}/${name}`)}` : vmLink(cluster, { namespace, name: vmi });
}

function whenEmpty(node: string): Html {
  return html`<div class="empty">
    <p>Every VM has left. When the work on the node is done, let it take pods again:</p>
    ${commandLine(shellLine("kubectl", "uncordon", node))}
  </div>`;
}

function keyOf({ subject: { verdict } }: Pick<VmProgress, "subject">): NamespacedName {
  return { namespace: verdict.namespace, name: verdict.vmi ?? verdict.name };
}

function vmTable(vms: readonly VmProgress[], { settings, node }: NodeView, { cluster, now, visitor }: Seen): Html {
  const actLink = (vm: VmProgress) => {
    const { vmi, evacuation } = vm.subject;
    const [act] = actsOn({ vmi, evacuations: evacuation === undefined ? [] : [evacuation], settings });
    return act === undefined ? "" : html`<a href="${vmPath(cluster, keyOf(vm))}">${ACT_WORDS[act]}…</a>`;
  };
  const columns: readonly Column<VmProgress>[] = [
    { head: "VM", cell: (vm) => vmLink(cluster, keyOf(vm)) },
    { head: "State", cell: stateBadge },
    {
      head: "From → to",
      cell: ({ row, subject }) => (row.mood === "moving" ? move(cluster, node.name, targetOf(subject)) : ""),
    },
    { head: "Strategy", cell: ({ subject }) => isolated(subject.vmi?.evictionStrategy ?? "KubeVirt's default") },
    { head: "Attempt", cell: (vm) => attempt(vm, settings.evacuation.maxAttempts, now) },
    { head: "Since", cell: (vm) => sinceCell(vm, now) },
    { head: "What happens", cell: (vm) => isolated(messageOf(vm)) },
    ...(visitor.mayAct ? [{ head: "Act", cell: actLink }] : []),
  ];
  return table(vms, { key: ({ row }) => row.key, columns, most: MOST_VMS });
}

/** The phase of its Evacuation where that says more than that it moves or waits. */
function stateBadge({ subject: { evacuation, vmi }, row }: VmProgress): Html {
  if (row.mood === "moving") return badge("Moving", "busy");
  if (isQueued(row)) return badge("Waiting", "quiet");
  if (evacuation !== undefined && isActive(evacuation)) return phaseBadge(evacuation.status.phase);
  if (row.mood === "blocked") return badge("Blocked", "bad");
  return vmi?.evacuationNodeName === undefined ? badge("Running", "good") : badge("Waiting", "quiet");
}

function sinceCell({ subject: { evacuation } }: VmProgress, now: Date): Html | "" {
  return evacuation === undefined || !isActive(evacuation) ? "" : lasting(secondsSince(evacuation.createdAt, now));
}

function messageOf({ subject: { verdict, evacuation }, row }: VmProgress): string {
  if (row.mood === "moving" || isQueued(row)) return row.words;
  if (evacuation !== undefined && isActive(evacuation)) return evacuation.status.message ?? row.words;
  return verdict.outcome === "Moves" ? "" : verdict.message;
}

function attempt({ subject: { evacuation } }: VmProgress, most: number, now: Date): Html | "" {
  if (evacuation === undefined || !isActive(evacuation)) return "";
  const { attempts, phase, nextAttemptTime } = evacuation.status;
  const left = phase === "BackingOff" ? secondsUntil(nextAttemptTime, now) : 0;
  return html`${Math.min(attempts + 1, most)} of ${most}${left > 0 ? html`, next in ${lasting(left)}` : ""}`;
}

const VERDICTS: Readonly<Record<NodeVerdict, Labelled>> = {
  WillSucceed: ["A drain will succeed", "good"],
  WillSucceedWithShutdowns: ["A drain will succeed, with shutdowns", "warn"],
  Unknown: ["Not certain", "warn"],
  NoRoom: ["Not enough room", "bad"],
  WillBlock: ["A drain will block", "bad"],
};

/** In the middle of a drain, how long that takes is said above. One that was broken off can begin again. */
function preflightPart({ preflight, preflightAt, progress, node }: NodeView, now: Date): Html {
  const isDraining = node.unschedulable && progress.active.length > 0;
  const { verdict, summary, unknown, time } = preflight;
  return html`<section>
    <h2>${isDraining ? "The whole drain" : "Would a drain succeed?"} ${badge(...VERDICTS[verdict])}</h2>
    <p>${isolated(sentence(summary))} <span class="muted">Looked at ${ago(preflightAt, now)}.</span></p>
    ${isDraining || time === undefined || time.moves === 0 ? "" : html`<p>${sentence(timeText(time))}</p>`}
    ${unknown.length === 0 ? "" : html`<p>Could not be read, or is not looked at: ${isolated(unknown.join("; "))}.</p>`}
  </section>`;
}
