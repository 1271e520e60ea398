/** A cluster in memory, of facts: what an API server keeps of each write, and on which condition. */
import type { ActResult } from "../../shared/cluster/write.ts";
import type { KubeVirtFacts } from "../../shared/cluster/kinds/kubevirt.ts";
import type { ConfigurationFacts } from "../../shared/cluster/kinds/lifeboat.ts";
import type { Action, NewEvacuation, KubernetesEvent } from "../../shared/policy/action.ts";
import type { WebhookFacts } from "../../shared/policy/budget/budget-mode.ts";
import { hasNoRequester, withRequester } from "../../shared/policy/evacuation/identity.ts";
import { isActive } from "../../shared/policy/evacuation/phase.ts";
import {
  type BudgetFacts,
  type EvacuationFacts,
  isFinal,
  type MigrationFacts,
  type NamespacedName,
  type NodeFacts,
  type PodFacts,
  type VmiFacts,
} from "../../shared/policy/facts.ts";
import { CREATED_BY_LABEL } from "../../shared/policy/names.ts";
import type { Installation } from "../../shared/policy/webhooks/facts.ts";
import type { Refusal } from "../../shared/policy/shield/shield.ts";
import { budget, NOW, without } from "../policy/fixtures.ts";
import { cancelEvacuation, label, reviewEviction } from "./fake-virt-api.ts";
import { FakeDescheduling } from "./fake-descheduling.ts";
import { always, isUnmoved, isVersion, Shelf } from "./shelf.ts";

type Write<V extends Action["verb"]> = Extract<Action, { verb: V }>;

export class FakeCluster {
  readonly pods = new Shelf<PodFacts>(() => this.#next());
  readonly vmis = new Shelf<VmiFacts>(() => this.#next());
  readonly nodes = new Shelf<NodeFacts>(() => this.#next());
  readonly evacuations = new Shelf<EvacuationFacts>(() => this.#next());
  readonly migrations = new Shelf<MigrationFacts>(() => this.#next());
  readonly budgets = new Shelf<BudgetFacts>(() => this.#next());
  readonly story: KubernetesEvent[] = [];
  /** By VMI uid. */
  readonly refusals = new Map<string, Refusal>();
  readonly webhooks = new Map<string, WebhookFacts[]>();
  /** By name, as installed. */
  readonly ownWebhooks = new Map<string, Installation>();
  isTokenAccepted = true;
  /** KubeVirt's eviction webhook, which marks. */
  isReviewing = true;
  kubeVirt: KubeVirtFacts | undefined = { namespace: "kubevirt", featureGates: [] };
  configuration: ConfigurationFacts | undefined;
  readonly descheduling = new FakeDescheduling(this.pods, () => this.#next());
  now = () => NOW;
  #version = 100;

  /** The LifeboatConfiguration. */
  configure(spec: unknown): void {
    this.configuration = { resourceVersion: this.#next(), generation: 1, conditions: [], spec };
  }

  /** Changes a VMI as KubeVirt or a person does. */
  change(key: NamespacedName, tweak: Partial<VmiFacts>): void {
    this.vmis.change(key, always, (found) => ({ ...found, ...tweak }));
  }

  setMark(key: NamespacedName, node: string | undefined): void {
    const mark = node === undefined ? {} : { evacuationNodeName: node };
    this.vmis.change(key, always, (found) => ({ ...without(found, "evacuationNodeName"), ...mark }));
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #identity() {
    const resourceVersion = this.#next();
    return { uid: `uid-${resourceVersion}`, resourceVersion };
  }

  act(action: Action): ActResult {
    switch (action.verb) {
      case "Mark":
        return this.#mark(action);
      case "Unmark":
        return this.#unmark(action);
      case "Label":
        return label(this, action);
      case "Shield":
        return this.vmis.change(
          action.vmi,
          (found) => found.nodeName === action.vmi.nodeName && found.shield === action.vmi.shield,
          (found) => ({ ...without(found, "shield"), ...(action.value !== undefined && { shield: action.value }) }),
        );
      case "CreateEvacuation":
        return this.createEvacuation(action.evacuation) === "Conflict" ? "Conflict" : "Done";
      case "WriteStatus":
        return this.evacuations.change(action.evacuation, isVersion(action.evacuation), (found) => {
          return { ...found, status: action.status };
        });
      case "DeleteEvacuation":
        return this.evacuations.remove(action.evacuation);
      case "CreateMigration":
        return this.#createMigration(action);
      case "AdoptMigration":
        return this.#changeMigration(action.migration, { cause: action.evacuation.spec.cause });
      case "SkipBackoff":
        return this.#changeMigration(action.migration, { skipsBackoff: true });
      case "DeleteMigration":
        return this.migrations.remove(action.migration, action.migration.phase !== "Running");
      case "CreateBudget":
        return this.#createBudget(action);
      case "EnsureBudget":
        return this.#grow(action, false);
      case "GrowBudget":
        return this.#grow(action, true);
      case "ResizeBudget":
        return this.#resize(action);
      case "DeleteBudget":
        return this.budgets.remove(action.budget);
      case "DeletePod":
        return this.pods.remove(action.pod);
      case "AnnotatePod":
        return this.#annotate(action);
      case "WriteConditions":
        return this.#writeConditions(action);
      case "Event":
        return this.#recordEvent(action);
    }
  }

  /** One that exists is joined, unless it has ended or is about another pod. */
  createEvacuation({ namespace, name, spec }: NewEvacuation): EvacuationFacts | "Conflict" {
    const found = this.evacuations.get({ namespace, name });
    if (found !== undefined) {
      if (!isActive(found) || found.spec.pod?.uid !== spec.pod?.uid) return "Conflict";
      const named = () => ({ ...found, ...withRequester(found, spec.requestedBy) });
      if (hasNoRequester(found)) this.evacuations.change(found, always, named);
      return this.evacuations.get(found) ?? "Conflict";
    }
    const identity = this.#identity();
    // Each is younger than the last one.
    const createdAt = this.now().getTime() + Number(identity.resourceVersion);
    const created = { namespace, name, ...identity, createdAt, spec, status: { attempts: 0, conditions: [] } };
    this.evacuations.put(created);
    return created;
  }

  withdraw(evacuation: EvacuationFacts): ActResult {
    return this.evacuations.change(evacuation, always, (found) => {
      return { ...found, spec: { ...found.spec, intent: "Withdrawn" as const } };
    });
  }

  retry(evacuation: EvacuationFacts, now: Date): ActResult {
    const { phase } = this.evacuations.get(evacuation)?.status ?? {};
    if (phase !== "BackingOff" && phase !== "Blocked") return "Conflict";
    return this.evacuations.change(evacuation, always, (found) => {
      return { ...found, spec: { ...found.spec, retryAt: now.toISOString() } };
    });
  }

  #mark({ vmi, forDescheduler }: Write<"Mark">): ActResult {
    const found = this.vmis.get(vmi);
    if (found?.uid !== vmi.uid) return "Conflict";
    if (found.nodeName === vmi.nodeName) reviewEviction(this, vmi, forDescheduler);
    return "Done";
  }

  #unmark({ vmi }: Write<"Unmark">): ActResult {
    const seen = (["evacuationLabel", "evictionSource"] as const).filter((key) => vmi[key] !== undefined);
    if (this.vmis.get(vmi) === undefined) return "Done";
    if (seen.length === 0) return cancelEvacuation(this, vmi);
    const unlabelled = this.vmis.change(
      vmi,
      (found) => isUnmoved(found, vmi) && seen.every((key) => found[key] === vmi[key]),
      (found) => without(found, ...seen),
    );
    return unlabelled === "Done" ? cancelEvacuation(this, vmi) : unlabelled;
  }

  /** KubeVirt's admission allows one unfinished migration a VMI. */
  #createMigration({ vmi, name, evacuation }: Write<"CreateMigration">): ActResult {
    const { namespace } = vmi;
    if (this.migrations.get({ namespace, name }) !== undefined) return "Done";
    const unfinished = (m: MigrationFacts) => m.namespace === namespace && m.vmiName === vmi.name && !isFinal(m);
    if (this.migrations.list(unfinished).length > 0) return "Conflict";
    const created = { ...this.#identity(), createdAt: this.now().getTime(), deleting: false };
    const { cause } = evacuation.spec;
    this.migrations.put({ namespace, name, vmiName: vmi.name, phase: "Pending", cause, ...created });
    return "Done";
  }

  #changeMigration(seen: MigrationFacts, tweak: Partial<MigrationFacts>): ActResult {
    const change = (found: MigrationFacts) => ({ ...found, ...tweak });
    return this.migrations.change(seen, ({ uid }) => uid === seen.uid, change);
  }

  #createBudget({ vmi, name, minAvailable }: Write<"CreateBudget">): ActResult {
    const key = { namespace: vmi.namespace, name };
    if (this.budgets.get(key) !== undefined) return "Done";
    const owners = [{ kind: "VirtualMachineInstance", name: vmi.name, uid: vmi.uid, controller: false }];
    const selector = { matchLabels: { [CREATED_BY_LABEL]: vmi.uid }, matchExpressions: [] };
    const touchedAt = this.now().getTime();
    this.budgets.put(budget({ ...key, ...this.#identity(), touchedAt, minAvailable, owners, selector }));
    return "Done";
  }

  /** One of another party's is left alone, and no reason to wait. */
  #grow({ vmi: { namespace }, name }: Write<"GrowBudget" | "EnsureBudget">, isGrown: boolean): ActResult {
    const found = this.budgets.get({ namespace, name });
    if (found === undefined) return "Conflict";
    if (!isGrown || !found.managedByUs) return "Done";
    return this.budgets.change(found, always, () => ({ ...found, minAvailable: 2, touchedAt: this.now().getTime() }));
  }

  #resize({ budget: seen, minAvailable }: Write<"ResizeBudget">): ActResult {
    return this.budgets.change(seen, isVersion(seen), (found) => ({ ...found, minAvailable }));
  }

  #annotate({ pod: seen, add, remove }: Write<"AnnotatePod">): ActResult {
    const touched = [...Object.keys(add), ...remove];
    return this.pods.change(
      seen,
      (found) => found.uid === seen.uid && touched.every((key) => found.annotations[key] === seen.annotations[key]),
      (found) => ({ ...found, annotations: { ...without(found.annotations, ...remove), ...add } }),
    );
  }

  #writeConditions({ resourceVersion, conditions }: Write<"WriteConditions">): ActResult {
    if (this.configuration?.resourceVersion !== resourceVersion) return "Conflict";
    this.configuration = { ...this.configuration, conditions, resourceVersion: this.#next() };
    return "Done";
  }

  /** Once for each occasion. */
  #recordEvent(story: KubernetesEvent): ActResult {
    if (this.story.some((told) => occasionOf(told) === occasionOf(story))) return "Done";
    this.story.push(story);
    return "Done";
  }
}

function occasionOf({ about, reason, occasion }: KubernetesEvent): string {
  return `${about.uid}/${reason}/${occasion}`;
}
