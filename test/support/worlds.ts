/** Creates the facts that planners read, changed by a test. A test fails if a rule reads any other fact. */
import { SEEN_EVENTS } from "../../shared/evacuation/not-started.ts";
import { textOf } from "../../shared/facts/facts.ts";
import { MIGRATING_VMIS, selectMigrationsOf, selectPodsOf } from "../../shared/kube/selections.ts";
import type { Action } from "../../shared/kube/action.ts";
import { budgetName, type BudgetWorld, planBudgets } from "../../shared/budget/budget.ts";
import { type HistoryWorld, planEvacuations } from "../../shared/evacuation/plan.ts";
import { type EvacuationFacts, type EvacuationStatus, isToBeReleased } from "../../shared/kube/evacuation.ts";
import type { EvacuationWorld } from "../../shared/evacuation/world.ts";
import type { BudgetFacts, MigrationFacts, NodeFacts, PodFacts, VmiFacts } from "../../shared/kube/facts.ts";
import { keyOf } from "../../shared/kube/objects.ts";
import type { SeenEvent } from "../../shared/kube/seen-event.ts";
import { type FactMap, factsOf } from "./facts.ts";
import { budget, marked, NODE, NOW, only, settings, vmi as vmiNamed } from "./fixtures.ts";

export interface Around extends Omit<HistoryWorld & EvacuationWorld, "facts"> {
  readonly nodes: readonly NodeFacts[];
  readonly migrations: readonly MigrationFacts[];
  readonly budgets: readonly BudgetFacts[];
  readonly pods: readonly PodFacts[];
  /** The Events. If undefined, a rule that reads Events fails the test. */
  readonly events: readonly SeenEvent[] | undefined;
  /**
   * The number of VMs that migrate, and the number of them that leave node01. If undefined, a rule that reads these
   * numbers fails the test.
   */
  readonly queue: { readonly running: number; readonly leaving: number } | undefined;
  readonly more: FactMap;
}

/**
 * Returns facts about a VMI with an evacuationNodeName and a PodDisruptionBudget. No other fact requires that the VM
 * moves.
 */
export function world(tweak: Partial<Around> = {}): HistoryWorld & EvacuationWorld {
  const around: Around = {
    vmis: [marked()],
    evacuations: [],
    nodes: [],
    migrations: [],
    budgets: [budget()],
    pods: [],
    events: undefined,
    queue: undefined,
    more: {},
    openNodeEvacuations: new Set(),
    settings: settings(),
    now: NOW,
    ...tweak,
  };
  const { vmis, evacuations, openNodeEvacuations, settings: own, now, isWatched } = around;
  return { vmis, evacuations, openNodeEvacuations, settings: own, now, isWatched, facts: factsOf(mapOf(around)) };
}

function mapOf({ vmis, queue, more, ...around }: Around): FactMap {
  const kind = "virtualmachineinstances";
  const ofQueue = queue && { [textOf({ kind, selection: MIGRATING_VMIS })]: migrating(queue) };
  return Object.assign({}, ...vmis.map((vmi) => factsAround(vmi, around)), ofQueue, more);
}

type AroundVmi = Pick<Around, "nodes" | "migrations" | "budgets" | "pods" | "events">;

function factsAround(vmi: VmiFacts, { nodes, migrations, budgets, pods, events }: AroundVmi): FactMap {
  const names = [vmi.nodeName, vmi.evacuationNodeName].filter((name) => name !== undefined);
  const key = keyOf({ namespace: vmi.namespace, name: budgetName(vmi) });
  const ofMigrations = selectMigrationsOf([vmi]).map((selection) => {
    return [textOf({ kind: "virtualmachineinstancemigrations", selection }), migrations];
  });
  return {
    ...Object.fromEntries(names.map((name) => [`nodes ${name}`, nodes.find((node) => node.name === name)])),
    ...Object.fromEntries(ofMigrations),
    [`poddisruptionbudgets ${key}`]: budgets.find((one) => keyOf(one) === key),
    [textOf({ kind: "pods", selection: selectPodsOf(vmi) })]: pods,
    ...(events && eventsAbout(vmi, pods, events)),
  };
}

function eventsAbout(vmi: VmiFacts, pods: readonly PodFacts[], events: readonly SeenEvent[]): FactMap {
  const asked = [
    { "involvedObject.uid": vmi.uid, reason: "FailedCreate" },
    ...pods.map(({ uid }) => ({ "involvedObject.uid": uid, type: "Warning" })),
  ];
  const found = asked.map((fields) => {
    const text = textOf({ kind: SEEN_EVENTS, selection: { namespace: vmi.namespace, fields, limit: 50 } });
    return [text, events.filter(({ about }) => about === fields["involvedObject.uid"])];
  });
  return Object.fromEntries(found);
}

function migrating({ running, leaving }: NonNullable<Around["queue"]>): readonly VmiFacts[] {
  return Array.from({ length: running }, (_, i) => {
    return vmiNamed({ name: `moving-${i}`, isMigrating: true, nodeName: i < leaving ? NODE : "node02" });
  });
}

export function budgetWorld(tweak: Partial<BudgetWorld> = {}): BudgetWorld {
  const plain = { settings: settings(), now: NOW, complete: true };
  return { vmis: [], evacuations: [], migrations: [], budgets: [], ...plain, ...tweak };
}

export function plannedBudgets(tweak: Partial<BudgetWorld>): readonly Action[] {
  return planBudgets(budgetWorld(tweak)).chains.flat();
}

export function planned(subject: EvacuationFacts, tweak: Partial<Around> = {}): readonly Action[] {
  return planEvacuations(world({ evacuations: [subject], ...tweak })).chains.flat();
}

/** Returns the status that Lifeboat writes for the Evacuation, or its current status if Lifeboat writes no status. */
export function statusAfter(subject: EvacuationFacts, tweak: Partial<Around> = {}): EvacuationStatus {
  const writes = only("WriteStatus", planned(subject, tweak));
  return writes.find(({ evacuation }) => evacuation.uid === subject.uid)?.status ?? subject.status;
}

/** Returns a text with the actions in order: the verb of an action, or the phase and reason of a written status. */
export function inShort(actions: readonly Action[]): string {
  const words = actions.map((action) => {
    if (action.verb === "WriteStatus" && isToBeReleased(action.evacuation)) return "Released";
    if (action.verb === "WriteStatus") return `${action.status.phase} ${action.status.reason}`;
    return action.verb === "Event" ? "Event" : action.verb;
  });
  return words.join(", ") || "-";
}

/**
 * Returns `inShort` of a plan. If the Evacuation ends, and needs a cleanup or a start of its VM, adds `inShort` of the
 * next plan.
 */
export function course(subject: EvacuationFacts, tweak: Partial<Around> = {}): string {
  const first = inShort(planned(subject, tweak));
  const status = statusAfter(subject, tweak);
  return isToBeReleased({ status }) ? `${first}; ${inShort(planned({ ...subject, status }, tweak))}` : first;
}
