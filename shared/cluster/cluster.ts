/**
 * One cluster, as doors and reconcilers see it: facts to read, actions to perform.
 * Owns: the interface and its implementation over HTTP. Does not own: decisions.
 */
import type { Action } from "../policy/action.ts";
import type { EvictionAnswer } from "../policy/descheduling/eviction-answer.ts";
import type { DeschedulingRegister } from "../policy/descheduling/register.ts";
import type {
  BudgetFacts,
  LauncherFacts,
  MigrationFacts,
  NamespacedName,
  NodeFacts,
  PodFacts,
  VmiFacts,
} from "../policy/facts.ts";
import { isCompleted } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import type { Settings } from "../policy/settings.ts";
import type { CountersRegister } from "../policy/counters.ts";
import type { SlotsRegister } from "../policy/slots.ts";
import { act, type ActResult } from "./act.ts";
import {
  budgetFacts,
  configMapFacts,
  type ConfigMapFacts,
  kubeVirtFacts,
  type KubeVirtFacts,
  migrationFacts,
  nodeFacts,
  podFacts,
  vmiFacts,
} from "./projections.ts";
import { type DeschedulingReads, deschedulingReads } from "./descheduling-reads.ts";
import { evict, type Eviction } from "./evict.ts";
import { listLaunchers } from "./list-launchers.ts";
import { kubevirtAccount } from "./marking.ts";
import { collection, object, type Resource } from "./paths.ts";
import { proveAnnotating } from "./prove-annotating.ts";
import { proveMarking } from "./prove-marking.ts";
import { type OnOddItem, parseAnswer, readAll, readOne } from "./read.ts";
import { countersOf, slotsOf } from "./record-schema.ts";
import { deschedulingRegisterOf } from "./register-schema.ts";
import * as schemas from "./schemas.ts";
import { type Endpoint, sender } from "./transport.ts";

/** 404 is undefined; what is no answer to the question throws a ClusterError. */
export interface Cluster extends DeschedulingReads {
  getPod(key: NamespacedName): Promise<PodFacts | undefined>;
  getVmi(key: NamespacedName): Promise<VmiFacts | undefined>;
  getNode(name: string): Promise<NodeFacts | undefined>;
  listVmis(scope: "All" | "Evacuating" | { readonly node: string }): Promise<readonly VmiFacts[]>;
  /** Whether any VMI carries the evacuation label: one small request. */
  isAnyEvacuating(): Promise<boolean>;
  listMigrations(ofVmi?: NamespacedName): Promise<readonly MigrationFacts[]>;
  listBudgets(namespace?: string): Promise<readonly BudgetFacts[]>;
  listNodes(): Promise<readonly NodeFacts[]>;
  /** Pods of the VMI that have not ended; terminating ones count. */
  countActivePods(vmi: VmiFacts): Promise<number>;
  listPodsOf(vmi: VmiFacts): Promise<readonly PodFacts[]>;
  listPodsOn(node: string): Promise<readonly PodFacts[]>;
  /** Launcher pods of the VMIs, in one request for every hundred of them; ended ones and migration targets included. */
  listLaunchers(of: "All" | readonly VmiFacts[]): Promise<readonly LauncherFacts[]>;
  /** Of the API server's version: 1.36 is 36; 0 if it does not say. */
  getServerMinor(): Promise<number>;
  getSlots(): Promise<SlotsRegister>;
  getDeschedulingRegister(): Promise<DeschedulingRegister>;
  /** `Off` where we may not read them, or somebody else has written something there. */
  getCounters(): Promise<CountersRegister | "Off">;
  /** Throws unless the collection may be listed. */
  canList(resource: Resource): Promise<void>;
  /** Throws unless a mark would be kept, tried out on some running VMI by a dry run; nothing to try on is no failure. */
  proveMarking(kubevirtNamespace: string): Promise<void>;
  /** Throws unless launcher pods may be annotated, tried out on one by a dry run; none is no failure. */
  proveAnnotating(): Promise<void>;
  getKubeVirt(): Promise<KubeVirtFacts | undefined>;
  getConfigMap(name: string): Promise<ConfigMapFacts | undefined>;
  /** A refusal is an answer, with its code and words. */
  evict(eviction: Eviction): Promise<EvictionAnswer>;
  /** The settings tell how VMIs are marked. */
  act(action: Action, settings: Pick<Settings, "kubevirtNamespace" | "marking">): Promise<ActResult>;
}

export interface ClusterOptions {
  readonly endpoint: Endpoint;
  /** Every request ends with this signal. */
  readonly signal: AbortSignal;
  readonly onOddItem: OnOddItem;
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
}

export function connect(options: ClusterOptions): Cluster {
  const { onOddItem, now } = options;
  const send = sender(options.endpoint, options.signal);
  const list = { onOddItem };
  const podList = { ...list, resource: "pods", schema: schemas.Pod, project: podFacts } as const;
  const listPodsOf = (vmi: VmiFacts) =>
    readAll(send, { ...podList, namespace: vmi.namespace, labelSelector: `${names.CREATED_BY_LABEL}=${vmi.uid}` });
  const getConfigMap = async (name: string) => {
    const key = { namespace: names.LIFEBOAT_NAMESPACE, name };
    return mapped(await readOne(send, "configmaps", key, schemas.ConfigMap), configMapFacts);
  };
  return {
    ...deschedulingReads(send, onOddItem),
    getPod: async (key) => mapped(await readOne(send, "pods", key, schemas.Pod), podFacts),
    getVmi: async (key) => mapped(await readOne(send, "virtualmachineinstances", key, schemas.Vmi), vmiFacts),
    getNode: async (name) => mapped(await readOne(send, "nodes", { namespace: "", name }, schemas.Node), nodeFacts),
    listVmis: (scope) =>
      readAll(send, {
        ...list,
        resource: "virtualmachineinstances",
        schema: schemas.Vmi,
        project: vmiFacts,
        ...(scope === "All" ? {} : { labelSelector: vmiSelector(scope) }),
      }),
    isAnyEvacuating: async () => {
      const path = collection("virtualmachineinstances");
      const query = { labelSelector: names.EVACUATION_LABEL, limit: "1" };
      const { body } = await send({ method: "GET", path, query });
      return parseAnswer(schemas.Page, body, `GET ${path}`).items.length > 0;
    },
    listMigrations: (ofVmi) =>
      readAll(send, {
        ...list,
        resource: "virtualmachineinstancemigrations",
        schema: schemas.Migration,
        project: (item) => (ofVmi === undefined || item.spec.vmiName === ofVmi.name ? migrationFacts(item) : undefined),
        ...(ofVmi === undefined ? {} : { namespace: ofVmi.namespace }),
      }),
    listBudgets: (namespace) =>
      readAll(send, {
        ...list,
        resource: "poddisruptionbudgets",
        schema: schemas.Budget,
        project: budgetFacts,
        ...(namespace === undefined ? {} : { namespace }),
      }),
    listNodes: () => readAll(send, { ...list, resource: "nodes", schema: schemas.Node, project: nodeFacts }),
    countActivePods: async (vmi) => (await listPodsOf(vmi)).filter((pod) => !isCompleted(pod)).length,
    listPodsOf,
    listPodsOn: (node) => readAll(send, { ...podList, fieldSelector: `spec.nodeName=${node}` }),
    listLaunchers: (of) => listLaunchers(send, of, onOddItem),
    getServerMinor: async () => {
      const { body } = await send({ method: "GET", path: "/version" });
      return Number.parseInt(parseAnswer(schemas.Version, body, "GET /version").minor, 10) || 0;
    },
    getSlots: async () => {
      const found = await getConfigMap(names.SLOTS_CONFIG_MAP);
      if (found === undefined) return { slots: [] };
      return { resourceVersion: found.resourceVersion, slots: slotsOf(found.data[names.SLOTS_KEY]) };
    },
    getCounters: async () => {
      const key = { namespace: names.LIFEBOAT_NAMESPACE, name: names.COUNTERS_CONFIG_MAP };
      const path = object("configmaps", key);
      const { code, body } = await send({ method: "GET", path, expect: [403, 404] });
      if (code === 403) return "Off";
      if (code === 404) return { evacuations: [], counted: [] };
      const { resourceVersion, data } = configMapFacts(parseAnswer(schemas.ConfigMap, body, `GET ${path}`));
      const counters = countersOf(data[names.COUNTERS_KEY]);
      return counters === undefined ? "Off" : { resourceVersion, ...counters };
    },
    canList: async (resource) => {
      await send({ method: "GET", path: collection(resource), query: { limit: "1" } });
    },
    proveMarking: (kubevirtNamespace) => proveMarking(send, kubevirtAccount(kubevirtNamespace)),
    proveAnnotating: () => proveAnnotating(send),
    getKubeVirt: async () => {
      const path = collection("kubevirts");
      const { body } = await send({ method: "GET", path });
      // KubeVirt allows one per cluster. One that does not parse is not left out: its strategy protects VMs.
      const [first] = parseAnswer(schemas.Page, body, `GET ${path}`).items;
      return first === undefined ? undefined : kubeVirtFacts(parseAnswer(schemas.KubeVirt, first, `GET ${path}`));
    },
    getConfigMap,
    getDeschedulingRegister: async () => deschedulingRegisterOf(await getConfigMap(names.DESCHEDULING_CONFIG_MAP)),
    evict: (eviction) => evict(eviction, send),
    act: (action, { kubevirtNamespace, marking }) =>
      act(action, { send, kubevirtNamespace, marking, sleep: options.sleep, now: now() }),
  };
}

function vmiSelector(scope: "Evacuating" | { readonly node: string }): string {
  return scope === "Evacuating" ? names.EVACUATION_LABEL : `${names.NODE_NAME_LABEL}=${scope.node}`;
}

function mapped<P, F>(parsed: P | undefined, project: (parsed: P) => F): F | undefined {
  return parsed === undefined ? undefined : project(parsed);
}
