/** A cluster in memory, of facts. */
import type { KubeVirtFacts } from "../../../shared/kube/schemas/kubevirt.ts";
import type { ConfigurationFacts } from "../../../shared/kube/schemas/lifeboat.ts";
import type { KubernetesEvent, NewEvacuation } from "../../../shared/kube/action.ts";
import type {
  BudgetFacts,
  MigrationFacts,
  NamespacedName,
  NodeFacts,
  PodFacts,
  VmiFacts,
} from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { Installation } from "../../../shared/settings/webhooks.ts";
import type { Refusal } from "../../../shared/shield/shield.ts";
import { NOW, without } from "../fixtures.ts";
import { FakeDescheduling } from "./fake-descheduling.ts";
import { always, Shelf } from "./shelf.ts";

/** An Event, by the name that depends on its occasion. */
export interface RecordedEvent extends Pick<KubernetesEvent, "about" | "type" | "message"> {
  readonly name: string;
  readonly reason: string;
}

type Kept = Pick<Shelf<NodeFacts>, "remove"> & { readonly get: (key: NamespacedName) => object | undefined };

export class FakeCluster {
  readonly pods = new Shelf<PodFacts>(() => this.#next());
  readonly vmis = new Shelf<VmiFacts>(() => this.#next());
  readonly nodes = new Shelf<NodeFacts>(() => this.#next());
  readonly evacuations = new Shelf<EvacuationFacts>(() => this.#next());
  readonly migrations = new Shelf<MigrationFacts>(() => this.#next());
  readonly budgets = new Shelf<BudgetFacts>(() => this.#next());
  readonly story: RecordedEvent[] = [];
  /** By VMI uid. */
  readonly refusals = new Map<string, Refusal>();
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

  version() {
    return { resourceVersion: this.#next() };
  }

  identity() {
    const resourceVersion = this.#next();
    return { uid: `uid-${resourceVersion}`, resourceVersion };
  }

  shelfOf(resource: string): Kept | undefined {
    const shelves: Readonly<Record<string, Kept>> = {
      pods: this.pods,
      nodes: this.nodes,
      virtualmachineinstances: this.vmis,
      virtualmachineinstancemigrations: this.migrations,
      evacuations: this.evacuations,
      poddisruptionbudgets: this.budgets,
    };
    return shelves[resource];
  }

  /** As a person does. */
  createEvacuation({ namespace, name, spec }: NewEvacuation): EvacuationFacts {
    const found = this.evacuations.get({ namespace, name });
    if (found !== undefined) return found;
    const identity = this.identity();
    // Each is younger than the last one.
    const createdAt = this.now().getTime() + Number(identity.resourceVersion);
    const created = { namespace, name, ...identity, createdAt, spec, status: { attempts: 0, conditions: [] } };
    this.evacuations.put(created);
    return created;
  }
}
