/** Renders the page of a VM: where it runs, how Lifeboat would answer an eviction, and its evacuations. */
import { html } from "hono/html";
import { cooldownReason } from "../../shared/evacuation/cooldown.ts";
import { guestPodUID } from "../../shared/evacuation/identity.ts";
import { decideEviction, doMigrationsDecide, type EvictionDecision } from "../../shared/eviction/decide.ts";
import { called } from "../../shared/evacuation/migration-cause.ts";
import { movesText, EXPLAINED, strategyInForce } from "../../shared/eviction/explanation.ts";
import type { Client } from "../../shared/kube/client.ts";
import { type EvacuationFacts, isActive } from "../../shared/kube/evacuation.ts";
import type { MigrationFacts, NamespacedName, PodFacts, VmiFacts } from "../../shared/kube/facts.ts";
import { CREATED_BY_LABEL } from "../../shared/kube/names.ts";
import { isFinal } from "../../shared/kube/objects.ts";
import { readEvacuationsOf, readMigrationsOf } from "../../shared/kube/requests.ts";
import type { Settings } from "../../shared/settings/settings.ts";
import { strategyOf } from "../../shared/settings/strategy.ts";
import { secondsUntil } from "../../shared/settings/time.ts";
import { noneOrUnread, RejectionError } from "../errors.ts";
import type { Target } from "../target.ts";
import { actsOnVm, actsPart } from "./acts.ts";
import {
  ago,
  badge,
  clusterPath,
  crumbs,
  factList,
  fromTerminal,
  type Html,
  isolated,
  lasting,
  notice,
  type Tone,
  nodeLink,
  section,
  sentence,
  shellLine,
  visible,
} from "./components.ts";
import { oldestFirst, CAUSE_TEXTS, evacuationTable, PHASES } from "./evacuations.ts";
import type { Shown } from "./layout.ts";
import type { Visit } from "./session.ts";

const MOST = 50;
const READ_SECONDS = 10;
const EVERY_SECONDS = 5;

interface VmView {
  /** Absent if the cluster has no VMI of this name. */
  readonly vmi?: VmiFacts;
  readonly pod?: PodFacts;
  readonly evacuations: readonly EvacuationFacts[];
  readonly migration?: MigrationFacts | undefined;
  /** Each kind with an object that could not be read, and the reason. It is empty if the whole list could not be read. */
  readonly issues: ReadonlyMap<Unread, string>;
  readonly decision?: EvictionDecision;
  readonly settings: Settings;
}

const UNREAD = ["evacuations", "migrations", "pod"] as const;
type Unread = (typeof UNREAD)[number];

const REQUEST = { username: "explain", cause: "ApiEviction" } as const;

async function readVm(key: NamespacedName, target: Target): Promise<VmView> {
  const cluster = target.connect(READ_SECONDS);
  const issues = new Map<Unread, string>();
  const noting = (kind: Unread) => (issue: string) => void issues.set(kind, `. Lifeboat cannot parse ${issue}`);
  const [vmi, evacuations, listed, { settings }] = await Promise.all([
    cluster.get("virtualmachineinstances", key),
    readEvacuationsOf(key, cluster, noting("evacuations")),
    readMigrationsOf([key], cluster, noting("migrations")).catch(noneOrUnread),
    target.settings(cluster),
  ]);
  if (listed === undefined) issues.set("migrations", "");
  const migrations = listed ?? [];
  const past = { evacuations, settings, migration: migrations.find((one) => !isFinal(one)), issues };
  if (vmi === undefined) {
    if ([evacuations, migrations, [...issues]].some(({ length }) => length > 0)) return past;
    throw new RejectionError("VmNotFound");
  }
  const pod = await readPod(vmi, cluster, noting("pod"));
  if (pod === undefined) return { ...past, vmi };
  if (issues.has("evacuations") || (issues.has("migrations") && doMigrationsDecide(vmi))) return { ...past, vmi, pod };
  const facts = { pod, vmi, evacuations, settings, now: target.platform.now(), request: REQUEST };
  return { ...past, vmi, pod, decision: decideEviction({ ...facts, migrations }) };
}

/** Reads the pod of the VM's guest. Calls `onOdd` if the guest's pod might be one that cannot be parsed. */
async function readPod(vmi: VmiFacts, cluster: Client, onOdd: (issue: string) => void): Promise<PodFacts | undefined> {
  const odd: string[] = [];
  const own = { namespace: vmi.namespace, labels: { [CREATED_BY_LABEL]: vmi.uid } };
  const pods = await cluster.list("pods", { ...own, onOdd: (issue) => void odd.push(issue) });
  const uid = guestPodUID(vmi);
  const pod = pods.find((one) => one.uid === uid);
  if (pod === undefined) odd.slice(0, 1).forEach(onOdd);
  return pod;
}

export async function vmPage(visit: Visit, key: NamespacedName): Promise<Shown> {
  const { target } = visit;
  const view = await readVm(key, target);
  const { vmi, pod, evacuations } = view;
  const { namespace, name } = key;
  const cluster = target.name;
  const now = target.platform.now();
  // If several Evacuations are active, shows the oldest, because Lifeboat ends the others with the phase Duplicate.
  const current = evacuations.toSorted(oldestFirst).find(isActive);
  const options = { cluster, now, most: MOST, ofOneVm: true, caption: "Newest first" };
  const main = html`${crumbs([cluster, clusterPath(cluster)], [`${namespace}/${name}`])}
    <h1>${visible(name)} <span class="muted">in ${visible(namespace)}</span></h1>
    <p class="lead">${verdictOn(view, current, now)}</p>
    ${UNREAD.filter((kind) => view.issues.has(kind)).map((kind) => unreadNotice(kind, view))}
    ${vmi === undefined || isFinal(vmi) ? "" : evictionPart(view)}
    ${vmi === undefined ? "" : vmPart(view, vmi, { cluster, now })}
    ${actsPart(view.issues.has("evacuations") ? [] : actsOnVm(view, key))}
    ${section("Evacuations", evacuations.toSorted(oldestFirst).toReversed(), (rows) => evacuationTable(rows, options))}
    ${fromTerminal(
      ...(pod === undefined ? [] : [shellLine("lifeboat", "explain", "pod", pod.name, "-n", namespace)]),
      shellLine("kubectl", "describe", "vmi", name, "-n", namespace),
      shellLine("kubectl", "get", "evacuations,vmim", "-n", namespace, "-o", "wide"),
    )}`;
  return { title: `${namespace}/${name}`, every: EVERY_SECONDS, main };
}

function unreadNotice(kind: Unread, { issues }: VmView): Html {
  return notice("warn", html`<p>${isolated(`The VM's ${kind} could not be read${issues.get(kind) ?? ""}`)}</p>`);
}

function verdictOn(view: VmView, current: EvacuationFacts | undefined, now: Date): Html | string {
  const { vmi, migration } = view;
  if (vmi === undefined) return "The VM does not run. This page shows its history.";
  if (isFinal(vmi)) return "The VM has ended. This page shows its history.";
  if (current === undefined && migration !== undefined) return isolated(sentence(movesText(migration)));
  if (current === undefined && view.issues.size > 0) return onEviction(view).outcome;
  if (current === undefined) return `The VM stays where it is. ${onEviction(view).outcome}`;
  const { spec, status } = current;
  const refused = secondsUntil(spec.deadline, now);
  return html`The VM ${PHASES[status.phase ?? "Pending"].means}. It has to leave its node because of
  ${CAUSE_TEXTS[spec.cause]}.
  ${refused > 0 ? html`Lifeboat refuses deletions of the VM's pod for another ${lasting(refused)}.` : ""}`;
}

const MOVES = new Set(["EvacuationTriggered", "EvacuationInProgress", "Migrating"]);

interface OnEviction {
  readonly mood: Tone;
  readonly answer: "Allowed" | "Moves" | "Waits" | "Refused" | "Unknown";
  readonly outcome: string;
}

function onEviction({ decision, issues, vmi, settings }: VmView): OnEviction {
  if (decision === undefined) {
    const outcome =
      issues.size === 0 ? "The VM has no pod that could be evicted." : "Lifeboat cannot say what an eviction would do.";
    return { mood: "warn", answer: "Unknown", outcome };
  }
  const { verdict, reason } = decision;
  const known = EXPLAINED[reason];
  if (verdict === "Allow")
    return {
      mood: "bad",
      answer: "Allowed",
      outcome: `An eviction would be allowed${known === undefined ? "" : `: ${known}`}.`,
    };
  if (MOVES.has(reason) && vmi !== undefined && strategyOf(vmi, settings) === "External" && !vmi.isMigrating)
    return {
      mood: "warn",
      answer: "Waits",
      outcome: "The VM would stay until its external controller moves or stops it.",
    };
  if (MOVES.has(reason))
    return { mood: "good", answer: "Moves", outcome: "An eviction would move it to another node." };
  return { mood: "warn", answer: "Refused", outcome: "An eviction would be refused, and would not move the VM." };
}

function evictionPart(view: VmView): Html {
  const { decision } = view;
  const { mood, answer, outcome } = onEviction(view);
  if (decision === undefined) return html`<p>${outcome}</p>`;
  const { verdict, reason } = decision;
  const messages = verdict === "Allow" ? decision.warnings : [decision.message];
  return html`<section>
    <h2>The answer to an eviction now ${badge(`${answer}: ${reason}`, mood)}</h2>
    <p>${outcome}</p>
    ${messages.map((words) => html`<p>${isolated(words)}</p>`)}
  </section>`;
}

interface Place {
  readonly cluster: string;
  readonly now: Date;
}

function vmPart({ settings, pod, migration }: VmView, vmi: VmiFacts, { cluster, now }: Place): Html {
  const { migratable, reason, message } = vmi.liveMigratable;
  const whose = vmi.evictionStrategy === undefined ? "KubeVirt's default" : "set on the VM";
  const took = vmi.movedInSeconds === undefined ? "" : html`; its migration took ${lasting(vmi.movedInSeconds)}`;
  const cooldown = cooldownReason(vmi, { settings, now });
  return html`<section>
    <h2>The VM</h2>
    ${factList([
      ["Runs on", nodeLink(cluster, vmi.nodeName)],
      ["Phase", isolated(vmi.phase)],
      ["Eviction strategy", html`${isolated(strategyInForce(vmi, settings))} <span class="muted">${whose}</span>`],
      ["Can migrate", migratable ? "yes" : html`no: ${isolated([reason, message].filter(Boolean).join(": "))}`],
      ["Last moved", vmi.movedAt === undefined ? "" : html`${ago(vmi.movedAt, now)}${took}`],
      ["Migration", migration === undefined ? "" : isolated(called(migration))],
      ["Backup", vmi.backup === undefined ? "" : html`${isolated(vmi.backup)} is in progress: no migration starts`],
      ["Pod", isolated(pod?.name)],
    ])}
    ${cooldown === undefined ? "" : html`<p>${isolated(sentence(cooldown))}</p>`}
  </section>`;
}
