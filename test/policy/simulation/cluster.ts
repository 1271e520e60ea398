/**
 * A cluster in memory, of facts only, that performs actions under the same conditions as an API server would.
 * Owns: the objects, and which action conflicts. Does not own: what happens by itself (kubevirt.ts), passes (pass.ts).
 */
import { isDeepStrictEqual } from "node:util";
import type { Action } from "../../../shared/policy/action.ts";
import {
  type BudgetFacts,
  isFinal,
  keyOf,
  type MigrationFacts,
  type NamespacedName,
  type PodFacts,
  type VmiFacts,
} from "../../../shared/policy/facts.ts";
import type { GuardCause } from "../../../shared/policy/disruption-cause.ts";
import type { EvacuationRecord } from "../../../shared/policy/record.ts";
import type { CountersRegister } from "../../../shared/policy/counters.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import type { Slot, SlotsRegister } from "../../../shared/policy/slots.ts";
import { without } from "../fixtures.ts";
import { Chronicle, type Choice, type Span } from "./chronicle.ts";
import { createBudget, ensureBudget, growBudget, resizeBudget } from "./budgets.ts";
import { Ledger } from "./ledger.ts";
import { launcherOn, Pods } from "./pods.ts";

export type ActResult = "Done" | "Conflict" | "Refused";

/** A live VM whose guest has lost its pod, and why. */
export interface Loss {
  readonly vmi: VmiFacts;
  readonly pod: PodFacts;
  readonly because: string;
  /** From when whoever let it go, or ended it, began to look. */
  readonly review: Span;
  /** Of a deletion. */
  readonly cause?: GuardCause;
  /** Those that counted then. */
  readonly choices: readonly Choice[];
}

/** Why a pod ends, decided on by what was seen since. */
export interface Verdict extends Pick<Loss, "because" | "cause"> {
  readonly since: Date;
  /** As the deletion itself shows. */
  readonly chosenAt?: Date;
}

type Removable = "evacuationNodeName" | "evacuationLabel" | "record" | "recordText";

export type Write<V extends Action["verb"]> = Extract<Action, { verb: V }>;

function tested(vmi: VmiFacts | undefined): readonly unknown[] {
  return [vmi?.uid, vmi?.nodeName, vmi?.evacuationNodeName, vmi?.recordText];
}

export class SimulatedCluster {
  readonly vmis = new Map<string, VmiFacts>();
  readonly migrations = new Map<string, MigrationFacts>();
  readonly budgets = new Map<string, BudgetFacts>();
  /** Nodes carrying the drain taint, and those carrying one that ends pods. */
  readonly tainted = new Set<string>();
  readonly expelling = new Set<string>();
  /** Nodes that run out of memory. */
  readonly pressed = new Set<string>();
  readonly pods = new Pods();
  register: SlotsRegister = { slots: [] };
  counters: CountersRegister = { evacuations: [], counted: [] };
  /** What the API server does about the counters, reading and writing. */
  countersAre: "served" | "forbidden" | "not to be written" = "served";
  readonly ledger = new Ledger();
  readonly losses: Loss[] = [];
  /** Slots whose migration somebody has decided to create, and still may. */
  readonly held = new Set<Slot>();
  /** UIDs of pods whose eviction is about to be answered. */
  readonly answering = new Set<string>();
  readonly chronicle = new Chronicle();
  now: Date;
  readonly settings: Settings;
  #version = 100;

  constructor(settings: Settings, now: Date) {
    this.settings = settings;
    this.now = now;
  }

  version(): string {
    return String(++this.#version);
  }

  add(vmi: VmiFacts): void {
    this.vmis.set(keyOf(vmi), vmi);
    this.chronicle.observe(vmi, this.now);
    this.pods.put(launcherOn(vmi, `pod-${vmi.uid}`, vmi.nodeName));
  }

  update(vmi: VmiFacts, changes: Partial<VmiFacts>, ...removed: readonly Removable[]): void {
    const next: VmiFacts = without({ ...vmi, ...changes, resourceVersion: this.version() }, ...removed);
    this.vmis.set(keyOf(vmi), next);
    this.chronicle.observe(next, this.now);
    this.ledger.observe(vmi, next);
  }

  unfinished(): readonly MigrationFacts[] {
    return [...this.migrations.values()].filter((m) => !isFinal(m));
  }

  /** Of somebody who has decided on it by what was seen since. */
  act(action: Action, since = this.now): ActResult {
    const result =
      this.#onVmi(action) ?? this.#onMigration(action) ?? this.#onBudget(action) ?? this.#onPod(action, since);
    if (result !== undefined) return result;
    if (action.verb === "WriteSlots") return this.#writeSlots(action);
    if (action.verb === "WriteCounters") return this.#writeCounters(action);
    if (action.verb === "Event") return "Done";
    throw new Error(`the simulated cluster cannot ${action.verb}`);
  }

  #onVmi(action: Action): ActResult | undefined {
    if (action.verb === "Mark" || action.verb === "Record") return this.#record(action);
    if (action.verb === "Unmark") return this.#clear(action.vmi, action.record, { evacuationLabel: "normal" });
    return action.verb === "Forget" ? this.#clear(action.vmi, undefined) : undefined;
  }

  #onMigration(action: Action): ActResult | undefined {
    if (action.verb === "CreateMigration") return this.#createMigration(action);
    if (action.verb === "AdoptMigration") return this.#adopt(action);
    if (action.verb !== "DeleteMigration") return undefined;
    // Whatever it has begun is taken back.
    const target = this.pods.get(`pod-${action.migration.uid}`);
    if (target !== undefined && target.nodeName !== this.#nodeOf(action.migration)) {
      this.pods.put({ ...target, deleting: true });
    }
    return this.#delete(this.migrations, action.migration);
  }

  #nodeOf({ namespace, vmiName }: MigrationFacts): string | undefined {
    return this.vmis.get(keyOf({ namespace, name: vmiName }))?.nodeName;
  }

  #onBudget(action: Action): ActResult | undefined {
    if (action.verb === "CreateBudget") return createBudget(this, action);
    if (action.verb === "EnsureBudget") return ensureBudget(this, action);
    if (action.verb === "GrowBudget") return growBudget(this, action);
    if (action.verb === "ResizeBudget") return resizeBudget(this, action);
    return action.verb === "DeleteBudget" ? this.#delete(this.budgets, action.budget) : undefined;
  }

  #onPod(action: Action, since: Date): ActResult | undefined {
    if (action.verb === "AnnotatePod") return this.pods.annotate(action) ? "Done" : "Conflict";
    if (action.verb !== "DeletePod") return undefined;
    this.endPod(action.pod.uid, { because: "DeadlineKept", cause: "NoExecuteTaint", since });
    return "Done";
  }

  /** The pod is gone, and with it the guest that runs in it. */
  endPod(uid: string, { since, chosenAt, ...why }: Verdict): void {
    const pod = this.pods.get(uid);
    const vmi = [...this.vmis.values()].find((one) => one.uid === pod?.labels["kubevirt.io/created-by"]);
    const isGuest = vmi !== undefined && this.pods.guestOf(vmi)?.uid === uid;
    this.pods.remove(uid);
    if (!isGuest || pod === undefined || vmi.deleting || isFinal(vmi)) return;
    const review = { from: since, to: this.now };
    const own = chosenAt && why.cause && { podUID: uid, nodeName: pod.nodeName, cause: why.cause, at: chosenAt };
    const choices = [...this.chronicle.choices(vmi), ...(own ? [own] : [])];
    this.losses.push({ ...why, vmi, pod, review, choices });
    this.update(vmi, { phase: "Failed" });
  }

  /** The VMI as it is, if the parts that every patch tests are still as observed. */
  #unmoved(observed: VmiFacts): VmiFacts | undefined {
    const vmi = this.vmis.get(keyOf(observed));
    return isDeepStrictEqual(tested(vmi), tested(observed)) ? vmi : undefined;
  }

  #record({ verb, vmi: observed, record, urgency }: Write<"Mark"> | Write<"Record">): ActResult {
    const vmi = this.#unmoved(observed);
    if (vmi === undefined) return "Conflict";
    const mark = verb === "Mark" && vmi.nodeName !== undefined ? { evacuationNodeName: vmi.nodeName } : {};
    this.update(vmi, { record, recordText: JSON.stringify(record), evacuationLabel: urgency, ...mark });
    return "Done";
  }

  /** The label goes, or is there afterwards. */
  #clear(observed: VmiFacts, record?: EvacuationRecord, label?: Pick<VmiFacts, "evacuationLabel">): ActResult {
    const vmi = this.#unmoved(observed);
    if (vmi === undefined) return "Conflict";
    const kept = record === undefined ? {} : { record, recordText: JSON.stringify(record) };
    const gone: readonly Removable[] = record === undefined ? ["record", "recordText"] : [];
    const also: readonly Removable[] = label === undefined ? ["evacuationLabel"] : [];
    this.update(vmi, { ...label, ...kept }, "evacuationNodeName", ...also, ...gone);
    return "Done";
  }

  /** With KubeVirt's create admitter: no second unfinished one, none for a VMI that cannot move or has ended. */
  #createMigration({ slot }: Write<"CreateMigration">): ActResult {
    const { node, id, ...key } = slot;
    if (this.migrations.has(keyOf(slot))) return "Done";
    const vmi = this.vmis.get(keyOf({ namespace: slot.namespace, name: slot.vmi }));
    if (vmi === undefined || isFinal(vmi) || !vmi.liveMigratable.migratable) return "Refused";
    if (this.unfinished().some((m) => m.namespace === vmi.namespace && m.vmiName === vmi.name)) return "Conflict";
    this.put({ namespace: key.namespace, name: key.name }, vmi, {
      evacuates: node,
      evacuationId: id,
      attempt: slot.attempt,
    });
    return "Done";
  }

  /** A new migration, as anybody may create one. */
  put(key: NamespacedName, vmi: VmiFacts, tweak: Partial<MigrationFacts>): void {
    const version = this.version();
    const sourceNode = vmi.nodeName === undefined ? {} : { sourceNode: vmi.nodeName };
    const migration = {
      phase: "Pending",
      deleting: false,
      hasAnnotations: true,
      resourceVersion: version,
      ...sourceNode,
    };
    this.migrations.set(keyOf(key), { ...key, ...migration, uid: `m${version}`, vmiName: vmi.name, ...tweak });
  }

  #adopt({ migration, id, attempt }: Write<"AdoptMigration">): ActResult {
    const found = this.migrations.get(keyOf(migration));
    if (found?.uid !== migration.uid || found.evacuationId !== migration.evacuationId) return "Conflict";
    this.migrations.set(keyOf(found), { ...found, evacuationId: id, attempt });
    return "Done";
  }

  #delete<T extends NamespacedName & { readonly uid: string }>(from: Map<string, T>, observed: T): ActResult {
    const found = from.get(keyOf(observed));
    if (found !== undefined && found.uid !== observed.uid) return "Conflict";
    from.delete(keyOf(observed));
    return "Done";
  }

  #writeSlots({ slots, resourceVersion }: Write<"WriteSlots">): ActResult {
    if (resourceVersion !== this.register.resourceVersion) return "Conflict";
    this.register = { slots, resourceVersion: this.version() };
    return "Done";
  }

  #writeCounters({ evacuations, counted, resourceVersion }: Write<"WriteCounters">): ActResult {
    if (this.countersAre !== "served") return "Refused";
    if (resourceVersion !== this.counters.resourceVersion) return "Conflict";
    this.counters = { evacuations, counted, resourceVersion: this.version() };
    return "Done";
  }
}
