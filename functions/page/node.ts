/** Renders the page of a node: the progress of its drain, the obstacles for each VM, and a prediction of a drain. */
import { html } from "hono/html";
import { type Client, named } from "../../shared/kube/client.ts";
import type { NodeVerdict, PodVerdict, Preflight, PreflightFacts } from "../../shared/preflight/facts.ts";
import { readPodsOf, readPreflight } from "../../shared/preflight/read.ts";
import {
  type NodeProgress,
  nodeProgress,
  type NodeState,
  type Subject,
  subjectsOf,
} from "../../shared/preflight/progress.ts";
import { requestersOf } from "../../shared/evacuation/requesters.ts";
import { PREFLIGHT_MESSAGES } from "../../shared/preflight/messages.ts";
import { isInTheWay, preflight } from "../../shared/preflight/verdict.ts";
import type { Observer } from "../../shared/settings/load-settings.ts";
import { noneOrUnread, RejectionError } from "../errors.ts";
import type { Target } from "../target.ts";
import { hasEnded, type NodeEvacuationFacts } from "../../shared/kube/node-evacuation.ts";
import { isObjectKey } from "../../shared/kube/objects.ts";
import { actsOnMaintenance, actsOnNode, actsPart } from "./acts.ts";
import {
  ago,
  badge,
  clusterPath,
  commandLine,
  counted,
  crumbs,
  factList,
  fromTerminal,
  type Html,
  isolated,
  type Labelled,
  notice,
  progressBar,
  section,
  sentence,
  shellLine,
  visible,
} from "./components.ts";
import { CAUSE_TEXTS, evacuationTable } from "./evacuations.ts";
import type { Shown } from "./layout.ts";
import { podTable, vmTable } from "./node-vms.ts";
import { asPart, currentOf, maintenancePart } from "./maintenance.ts";
import type { Visit } from "./session.ts";

const READ_SECONDS = 25;
const EVERY_SECONDS = 5;
const MOST_GONE = 50;
/** The page predicts a drain with the default flags of `lifeboat explain node`. */
const FLAGS = { force: false, deleteEmptyDirData: false };

/**
 * The prediction of a node's drain, and the time of the prediction. To save memory, the pods that were read for the
 * prediction are not stored.
 */
interface Judged {
  readonly node: PreflightFacts["node"];
  readonly preflight: Preflight;
  readonly at: Date;
}

/** The predictions for recently shown nodes, kept for 30 s. */
export type RecentPreflights = Map<string, Judged>;
const MAX_AGE_MS = 30_000;
const MOST_KEPT = 16;

interface NodeView extends Judged {
  readonly progress: NodeProgress;
}

async function readNode(name: string, target: Target, recent: RecentPreflights): Promise<NodeView> {
  if (!isObjectKey({ namespace: "", name })) throw new RejectionError("NodeNotFound");
  const cluster = target.connect(READ_SECONDS);
  const { settings } = await target.settings(cluster);
  const now = target.platform.now();
  const key = JSON.stringify([target.name, name]);
  const kept = recent.get(key);
  const known = kept !== undefined && now.getTime() - kept.at.getTime() <= MAX_AGE_MS ? kept : undefined;
  const observer = { cluster, settings, now };
  const facts =
    known === undefined ? await readPreflight(name, FLAGS, observer) : await observeAgain(known.node, observer);
  if (facts === undefined) throw new RejectionError("NodeNotFound");
  const judged = known ?? { node: facts.node, preflight: preflight(facts), at: now };
  recent.delete(key);
  recent.set(key, judged);
  for (const oldest of recent.keys()) if (recent.size > MOST_KEPT) recent.delete(oldest);
  const rooms = new Map(judged.preflight.pods.map((pod) => [`${pod.namespace}/${pod.name}`, pod.room]));
  const subjects = subjectsOf(facts).map((subject) => withRoom(subject, rooms));
  return { ...judged, node: facts.node, progress: nodeProgress(facts, subjects) };
}

/** Reads only this node and its pods, because the progress of its VMs does not depend on other nodes. */
async function observeAgain(before: Judged["node"], observer: Observer): Promise<PreflightFacts | undefined> {
  const { name } = before;
  const [node, here] = await Promise.all([
    observer.cluster.get("nodes", named(name)),
    readPodsOf(name, FLAGS, observer),
  ]);
  if (node === undefined) return undefined;
  const nowhere = { otherNodes: [], otherPods: [], migratingElsewhere: [], leavingElsewhere: [] };
  const around = { ...nowhere, volumes: [], finished: [] };
  return { ...here, ...around, node: { ...before, ...node } };
}

function withRoom(subject: Subject, rooms: ReadonlyMap<string, PodVerdict["room"]>): Subject {
  const { verdict } = subject;
  const room = rooms.get(`${verdict.namespace}/${verdict.name}`);
  return room === undefined ? subject : { ...subject, verdict: { ...verdict, room } };
}

const VERDICTS: Readonly<Record<NodeVerdict, Labelled>> = {
  WillSucceed: ["A drain will succeed", "good"],
  WillSucceedWithShutdowns: ["A drain will succeed, with shutdowns", "warn"],
  Unknown: ["Not certain", "warn"],
  NoRoom: ["Not enough room", "bad"],
  WillBlock: ["A drain will block", "bad"],
};

const STATES: Readonly<Record<NodeState, Labelled>> = {
  Draining: ["Being drained", "busy"],
  Drained: ["Empty of VMs", "good"],
  Cordoned: ["Cordoned", "warn"],
  InUse: ["In use", "quiet"],
};

/**
 * Reads the node's maintenance. `unread` says which NodeEvacuations could not be read. `isRead` is false if one of them
 * might be the node's current one.
 */
async function readMaintenance(node: string, client: Client) {
  const odd: string[] = [];
  const all = await client.list("nodeevacuations", { onOdd: (issue) => void odd.push(issue) }).catch(noneOrUnread);
  if (all === undefined) return { isRead: false, unread: "The node's maintenance could not be read." };
  const [first] = odd;
  const might = `${counted(odd.length, "NodeEvacuation")} could not be read, and might be for this node`;
  const unread = first === undefined ? undefined : `${might}. Lifeboat cannot parse ${first}`;
  const maintenance = currentOf(all, node);
  const isCertain = first === undefined || (maintenance !== undefined && !hasEnded(maintenance));
  return { isRead: isCertain, maintenance, unread };
}

export async function nodePage(visit: Visit, name: string, recent: RecentPreflights): Promise<Shown> {
  const { target } = visit;
  const client = target.connect(READ_SECONDS);
  const [view, { maintenance, isRead, unread }] = await Promise.all([
    readNode(name, target, recent),
    readMaintenance(name, client),
  ]);
  const part = maintenance && (await asPart(maintenance, client));
  const [cluster, now] = [target.name, target.platform.now()];
  const { state, here, gone, pods, isPartlySeen } = view.progress;
  const stuck = pods.filter(({ verdict }) => isInTheWay(verdict));
  const main = html`${crumbs([cluster, clusterPath(cluster)], [name])}
    <h1>${visible(name)} ${badge(...STATES[state])}</h1>
    <p class="lead">${leadOf(view.progress)}</p>
    ${isPartlySeen ? notice("bad", html`<p>${PARTLY_SEEN}</p>`) : ""}
    ${unread === undefined ? "" : notice("warn", html`<p>${isolated(unread)}</p>`)}
    ${part === undefined ? "" : maintenancePart(part, { cluster, now, node: view.node })}
    ${state === "Draining" ? drainingPart(view.progress, now) : ""}
    ${section(state === "Draining" ? "Still here" : "VMs on this node", here, (rows) => vmTable(rows, cluster, now))}
    ${section("Other pods that block a drain", stuck, podTable)} ${state === "Drained" ? whenEmpty(name) : ""}
    ${section("Left recently", gone, (rows) => evacuationTable(rows, { cluster, now, most: MOST_GONE }))}
    ${preflightPart(view, now)} ${actsPart(isRead ? actsOf(view, maintenance) : [])}
    ${fromTerminal(
      shellLine("lifeboat", "explain", "node", name),
      shellLine("kubectl", "drain", name, "--ignore-daemonsets"),
    )}`;
  return { title: name, every: EVERY_SECONDS, main };
}

function actsOf({ preflight: { pods }, node }: NodeView, maintenance: NodeEvacuationFacts | undefined) {
  if (maintenance !== undefined && !hasEnded(maintenance)) return actsOnMaintenance(maintenance);
  const pinned = pods.some(({ outcome, reason }) => outcome === "Blocked" && reason === "NotMigratable");
  return actsOnNode(node.name, pinned);
}

const PARTLY_SEEN =
  "Lifeboat cannot read every pod and VMI of this node: this page might not show every VM that runs here. The log of Lifeboat names the object that cannot be read.";

function leadOf({ state, here, gone, pods, isPartlySeen, areEvacuationsPartlySeen }: NodeProgress): string {
  const vms = here.length;
  if (isPartlySeen && vms === 0) return "Lifeboat has found no VM on this node, but could not read every object.";
  switch (state) {
    case "Draining": {
      const numberOf = (mood: string) => here.filter(({ row }) => row.mood === mood).length;
      const left = `${gone.length} of ${counted(gone.length + vms, "VM")} ${gone.length === 1 ? "has" : "have"} left this node`;
      return `${left}: ${numberOf("moving")} moving, ${numberOf("waiting")} waiting, ${numberOf("blocked")} blocked.`;
    }
    case "Drained":
      return `No VM is left on this node.${pods.length === 0 ? "" : ` ${counted(pods.length, "other pod", ["is", "are"])} still on it.`} The node takes no new pods.`;
    case "Cordoned":
      return areEvacuationsPartlySeen
        ? "The node takes no new pods. Lifeboat could not read every Evacuation of its VMs."
        : `The node takes no new pods. Nothing evacuates its ${counted(vms, "VM")} yet.`;
    case "InUse":
      return vms === 0 ? "No VM runs on this node." : `${counted(vms, "VM", ["runs", "run"])} on this node.`;
  }
}

function distinct(texts: readonly string[]): string {
  return [...new Set(texts.filter((text) => text !== ""))].join(", ");
}

function drainingPart({ active, gone, here }: NodeProgress, now: Date): Html {
  const shown = active.length > 0 ? active : gone;
  const since = shown.map(({ createdAt }) => createdAt).toSorted((a, b) => a - b)[0];
  return html`<div class="progress">${progressBar(gone.length, gone.length + here.length, "VMs that have left")}</div>
    ${factList([
      ["Because of", distinct(shown.map(({ spec }) => CAUSE_TEXTS[spec.cause]))],
      ["Asked by", isolated(distinct(shown.flatMap(requestersOf)))],
      ["Since", since === undefined ? "" : ago(since, now)],
    ])}`;
}

function whenEmpty(node: string): Html {
  return html`<div class="empty">
    <p>Every VM has left. When the work on the node is done, let the node take pods again:</p>
    ${commandLine(shellLine("kubectl", "uncordon", node))}
  </div>`;
}

function preflightPart({ preflight: { verdict, summary, unknown, time }, at, progress }: NodeView, now: Date): Html {
  return html`<section>
    <h2>
      ${progress.state === "Draining" ? "The rest of the drain" : "Would a drain succeed?"}
      ${badge(...VERDICTS[verdict])}
    </h2>
    <p>${isolated(sentence(summary))} <span class="muted">Checked ${ago(at, now)}.</span></p>
    ${time === undefined ? "" : html`<p>${sentence(PREFLIGHT_MESSAGES.time(time))}</p>`}
    ${unknown.length === 0 ? "" : html`<p>Lifeboat did not read or did not check: ${isolated(unknown.join("; "))}.</p>`}
  </section>`;
}
