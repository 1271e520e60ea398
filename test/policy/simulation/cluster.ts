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
  type VmiFacts,
} from "../../../shared/policy/facts.ts";
import type { EvacuationRecord } from "../../../shared/policy/record.ts";
import type { CountersRegister } from "../../../shared/policy/counters.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import type { SlotsRegister } from "../../../shared/policy/slots.ts";
import { without } from "../fixtures.ts";
import { Ledger } from "./ledger.ts";

export type ActResult = "Done" | "Conflict" | "Refused";

type Removable = "evacuationNodeName" | "evacuationLabel" | "record" | "recordText";

type Write<V extends Action["verb"]> = Extract<Action, { verb: V }>;

function tested(vmi: VmiFacts | undefined): readonly unknown[] {
  return [vmi?.uid, vmi?.nodeName, vmi?.evacuationNodeName, vmi?.recordText];
}

export class SimulatedCluster {
  readonly vmis = new Map<string, VmiFacts>();
  readonly migrations = new Map<string, MigrationFacts>();
  readonly budgets = new Map<string, BudgetFacts>();
  readonly tainted = new Set<string>();
  /** VMI UID to the number of its pods; two while a migration has its target pod. */
  readonly activePods = new Map<string, number>();
  register: SlotsRegister = { slots: [] };
  counters: CountersRegister = { evacuations: [], counted: [] };
  /** What the API server does about the counters, reading and writing. */
  countersAre: "served" | "forbidden" | "not to be written" = "served";
  readonly ledger = new Ledger();
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
    this.activePods.set(vmi.uid, 1);
  }

  update(vmi: VmiFacts, changes: Partial<VmiFacts>, ...removed: readonly Removable[]): void {
    const next: VmiFacts = without({ ...vmi, ...changes, resourceVersion: this.version() }, ...removed);
    this.vmis.set(keyOf(vmi), next);
    this.ledger.observe(vmi, next);
  }

  unfinished(): readonly MigrationFacts[] {
    return [...this.migrations.values()].filter((m) => !isFinal(m));
  }

  act(action: Action): ActResult {
    const result = this.#onVmi(action) ?? this.#onMigration(action) ?? this.#onBudget(action);
    if (result !== undefined) return result;
    if (action.verb === "WriteSlots") return this.#writeSlots(action);
    if (action.verb === "WriteCounters") return this.#writeCounters(action);
    if (action.verb === "Event") return "Done";
    throw new Error(`the simulated cluster cannot ${action.verb}`);
  }

  #onVmi(action: Action): ActResult | undefined {
    if (action.verb === "Mark" || action.verb === "Record") return this.#record(action);
    if (action.verb === "Unmark") return this.#clear(action.vmi, action.record, { evacuationLabel: "normal" });
    return action.verb === "Forget" ? this.#clear(action.vmi, action.record) : undefined;
  }

  #onMigration(action: Action): ActResult | undefined {
    if (action.verb === "CreateMigration") return this.#createMigration(action);
    if (action.verb === "AdoptMigration") return this.#adopt(action);
    return action.verb === "DeleteMigration" ? this.#delete(this.migrations, action.migration) : undefined;
  }

  #onBudget(action: Action): ActResult | undefined {
    if (action.verb === "CreateBudget") return this.#createBudget(action);
    if (action.verb === "ResizeBudget") return this.#resize(action);
    return action.verb === "DeleteBudget" ? this.#delete(this.budgets, action.budget) : undefined;
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

  #createBudget({ vmi, name, minAvailable }: Write<"CreateBudget">): ActResult {
    const key = { namespace: vmi.namespace, name };
    if (this.budgets.has(keyOf(key))) return "Done";
    const version = this.version();
    this.budgets.set(keyOf(key), {
      ...key,
      uid: `b${version}`,
      resourceVersion: version,
      generation: 1,
      deleting: false,
      managedByUs: true,
      owners: [{ kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid, controller: false }],
      minAvailable,
      selector: { matchLabels: { "kubevirt.io/created-by": vmi.uid }, matchExpressions: [] },
      status: { observedGeneration: 0, disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    });
    return "Done";
  }

  #resize({ budget, minAvailable }: Write<"ResizeBudget">): ActResult {
    const found = this.budgets.get(keyOf(budget));
    if (found?.uid !== budget.uid || found.minAvailable !== budget.minAvailable) return "Conflict";
    this.budgets.set(keyOf(found), { ...found, minAvailable, generation: found.generation + 1 });
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
