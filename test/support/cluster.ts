/**
 * A fake KubeVirt cluster in memory. Tests write and read facts. The cluster stores them as objects, and answers
 * requests of Lifeboat's client.
 */
import type * as z from "zod/mini";
import { type FactsOf, SCHEMAS } from "../../shared/kube/resources.ts";
import type { KubernetesEvent, NewEvacuation } from "../../shared/kube/action.ts";
import { ClusterError, type Failure } from "../../shared/kube/failures.ts";
import type { EvacuationFacts } from "../../shared/kube/evacuation.ts";
import type { BudgetFacts, MigrationFacts, NamespacedName, NodeFacts, VmiFacts } from "../../shared/kube/facts.ts";
import type { KubeVirtFacts } from "../../shared/kube/schemas/kubevirt.ts";
import type { Scheduler } from "fast-check";
import { NOW } from "./fixtures.ts";
import { type Before, FakeApi } from "./cluster/api.ts";
import { at, type JsonObject, textOf } from "./json.ts";
import * as objects from "./cluster/objects.ts";
import { serve } from "./cluster/network.ts";
import { partiesOf } from "./cluster/parties.ts";
import { type AnyPod, nodeObject, podObject } from "./cluster/pods-and-nodes.ts";
import { type RequestInfo, requestInfoOf } from "./cluster/request-info.ts";

export type { Before };

type Kind =
  | "pods"
  | "nodes"
  | "evacuations"
  | "virtualmachineinstances"
  | "virtualmachineinstancemigrations"
  | "poddisruptionbudgets";
type Key = { readonly namespace?: string; readonly name: string };

class Shelf<R extends Kind, Given extends FactsOf<R>> {
  readonly #api: FakeApi;
  readonly #resource: R;
  readonly #objectOf: (facts: Given) => JsonObject;

  constructor(api: FakeApi, resource: R, objectOf: (facts: Given) => JsonObject) {
    this.#api = api;
    this.#resource = resource;
    this.#objectOf = objectOf;
  }

  #read(object: JsonObject): FactsOf<R> {
    const schema: z.ZodMiniType<FactsOf<R>> = SCHEMAS[this.#resource].facts;
    return schema.parse(object);
  }

  get(key: Key): FactsOf<R> | undefined {
    const found = this.#api.object(this.#resource, key);
    return found && this.#read(found);
  }

  list(isSelected: (facts: FactsOf<R>) => boolean = () => true): readonly FactsOf<R>[] {
    return this.#api
      .objects(this.#resource)
      .map((one) => this.#read(one))
      .filter(isSelected);
  }

  /** Stores the facts without admission. */
  put(...facts: readonly Given[]): void {
    for (const one of facts) this.#api.put(this.#resource, this.#objectOf(one));
  }

  delete(key: Key): void {
    this.#api.remove(this.#resource, key);
  }
}

export interface RecordedEvent extends Pick<KubernetesEvent, "type" | "message"> {
  readonly name: string;
  readonly about: Json;
  readonly reason: string;
}
type Json = NonNullable<ReturnType<typeof at>>;

export class FakeCluster {
  readonly api: FakeApi = new FakeApi(partiesOf(() => this));
  readonly pods = new Shelf<"pods", AnyPod>(this.api, "pods", podObject);
  readonly nodes = new Shelf<"nodes", NodeFacts>(this.api, "nodes", nodeObject);
  readonly vmis = new Shelf<"virtualmachineinstances", VmiFacts>(
    this.api,
    "virtualmachineinstances",
    objects.vmiObject,
  );
  readonly evacuations = new Shelf<"evacuations", EvacuationFacts>(this.api, "evacuations", objects.evacuationObject);
  readonly migrations = new Shelf<"virtualmachineinstancemigrations", MigrationFacts>(
    this.api,
    "virtualmachineinstancemigrations",
    objects.migrationObject,
  );
  readonly budgets = new Shelf<"poddisruptionbudgets", BudgetFacts>(
    this.api,
    "poddisruptionbudgets",
    objects.budgetObject,
  );
  /** True if KubeVirt's webhook reviews evictions and sets evacuationNodeName. */
  isReviewing = true;
  /** Names of the pods that a client tried to evict, in order, without dry runs. */
  readonly evictions: string[] = [];
  readonly evictionAnswers = new Map<string, { readonly code: number; readonly message: string }>();

  #url: string | undefined;

  constructor() {
    this.api.now = () => NOW;
    this.kubeVirt = { namespace: "kubevirt", featureGates: [] };
  }

  get url(): string {
    return (this.#url ??= serve(this.api.fetch()));
  }

  get requests(): readonly RequestInfo[] {
    return this.api.requests;
  }

  get now(): () => Date {
    return this.api.now;
  }

  set now(now: () => Date) {
    this.api.now = now;
  }

  get kubeVirt(): KubeVirtFacts | undefined {
    return this.api.objects("kubevirts").map((one) => SCHEMAS.kubevirts.facts.parse(one))[0];
  }

  set kubeVirt(facts: KubeVirtFacts | undefined) {
    for (const one of this.api.objects("kubevirts"))
      this.api.remove("kubevirts", { namespace: textOf(at(one, "metadata", "namespace")), name: "kubevirt" });
    if (facts !== undefined) this.api.put("kubevirts", objects.kubeVirtObject(facts));
  }

  /** Replaces the LifeboatConfiguration. Deletes it if `spec` is undefined. */
  configure(spec: unknown, status: object = {}): void {
    const resourceVersion = this.api.nextVersion();
    const metadata = { name: "lifeboat", uid: "configuration", generation: 1, resourceVersion };
    this.api.remove("lifeboatconfigurations", metadata);
    if (spec !== undefined) this.api.put("lifeboatconfigurations", objects.object({ metadata, spec, status }));
  }

  change({ namespace, name }: NamespacedName, tweak: Partial<VmiFacts>): void {
    const found = this.vmis.get({ namespace, name });
    if (found !== undefined) this.vmis.put({ ...found, ...tweak, resourceVersion: this.api.nextVersion() });
  }

  setMark(key: NamespacedName, node: string | undefined): void {
    this.api.merge("virtualmachineinstances", key, { status: { evacuationNodeName: node ?? null } });
  }

  createEvacuation({ namespace, name, spec }: NewEvacuation): void {
    const { vmiName, ...rest } = spec;
    const body = { metadata: { namespace, name }, spec: { virtualMachineInstance: { name: vmiName }, ...rest } };
    const url = `${SERVER}/apis/lifeboat.dev/v1alpha1/namespaces/${namespace}/evacuations`;
    this.api.answer(requestInfoOf(url, { method: "POST", body: JSON.stringify(body) }));
  }

  get recordedEvents(): readonly RecordedEvent[] {
    return this.api.objects("events").map((event) => ({
      name: textOf(at(event, "metadata", "name")),
      about: at(event, "involvedObject") ?? {},
      type: textOf(at(event, "type")) === "Warning" ? "Warning" : "Normal",
      reason: textOf(at(event, "reason")),
      message: textOf(at(event, "message")),
    }));
  }
}

export const SERVER = "https://fake.example";

/** Lets fast-check choose the order of the answers. */
export function interleaved(scheduler: Scheduler): Before {
  return (label) => scheduler.schedule(Promise.resolve(), label);
}

export const UNREACHABLE: Failure = { reason: "Unreachable" };
export const FORBIDDEN: Failure = { reason: "Refused", code: 403, request: "the request" };

export function failing(requests: RegExp, failure: Failure = UNREACHABLE): Before {
  return (label) => {
    if (requests.test(label)) throw new ClusterError(failure);
  };
}

export function once(requests: RegExp, change: () => void): Before {
  let isDone = false;
  return (label) => {
    if (isDone || !requests.test(label)) return;
    isDone = true;
    change();
  };
}
