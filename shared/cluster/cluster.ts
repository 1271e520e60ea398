/**
 * One cluster, as doors and reconcilers see it: facts to read, actions to perform.
 * Owns: the interface and its implementation over HTTP. Does not own: decisions.
 */
import type { Action, NewEvacuation } from "../policy/action.ts";
import type { EvictionAnswer } from "../descheduling/cycle/eviction-answer.ts";
import type { DeschedulingRegister } from "../descheduling/cycle/register.ts";
import type {
  BudgetFacts,
  EvacuationFacts,
  LauncherFacts,
  MigrationFacts,
  NamespacedName,
  NodeFacts,
  PodFacts,
  VmiFacts,
} from "../policy/facts.ts";
import type { WebhookFacts } from "../policy/budget/budget-mode.ts";
import * as names from "../policy/names.ts";
import type { Settings } from "../policy/settings.ts";
import { countsOf, type EvacuationCount } from "../policy/counters.ts";
import { END_PHASES } from "../policy/evacuation/phase.ts";
import { act, type ActResult, createEvacuation } from "./act.ts";
import {
  budgetFacts,
  configMapFacts,
  type ConfigMapFacts,
  type ConfigurationFacts,
  kubeVirtFacts,
  kubeVirtMinor,
  type KubeVirtFacts,
  nodeFacts,
  podFacts,
  vmiFacts,
  webhookFacts,
} from "./projections.ts";
import { type DeschedulingReads, deschedulingReads } from "../descheduling/reads/reads.ts";
import { evict, type Eviction } from "../descheduling/reads/evict.ts";
import { listLaunchers } from "./list-launchers.ts";
import { kubevirtAccount } from "./marking.ts";
import { collection, object, type Resource } from "./paths.ts";
import { proveAnnotating } from "./prove-annotating.ts";
import { proveMarking } from "./prove-marking.ts";
import { readConfiguration } from "./read-configuration.ts";
import { type OnOddItem, parseAnswer, readAll, readOne } from "./read.ts";
import { deschedulingRegisterOf } from "../descheduling/reads/register-schema.ts";
import { evacuationFacts, migrationFacts } from "./evacuation-projections.ts";
import { Evacuation, Migration } from "./evacuation-schemas.ts";
import * as schemas from "./schemas.ts";
import { type Endpoint, sender } from "./transport.ts";

/** 404 is undefined; what is no answer to the question throws a ClusterError. */
export interface Cluster extends DeschedulingReads {
  getPod(key: NamespacedName): Promise<PodFacts | undefined>;
  getVmi(key: NamespacedName): Promise<VmiFacts | undefined>;
  getNode(name: string): Promise<NodeFacts | undefined>;
  /** `Migrating`: those handed over to a target pod that runs; the target's virt-handler takes the label off in the end. */
  listVmis(scope: "All" | "Migrating" | { readonly node: string }): Promise<readonly VmiFacts[]>;
  /** Of a VMI: ended ones included. `Active`: those of the whole cluster that have not ended. */
  listEvacuations(
    scope: "All" | "Active" | NamespacedName | { readonly sourceNode: string },
  ): Promise<readonly EvacuationFacts[]>;
  /** What was created, or joined under the same name; Conflict: one of that name has ended. */
  createEvacuation(evacuation: NewEvacuation): Promise<EvacuationFacts | "Conflict">;
  /** Ask for an `Evacuation` to be cancelled. Conflict: it is gone. */
  withdraw(evacuation: EvacuationFacts): Promise<ActResult>;
  listMigrations(ofVmi: NamespacedName): Promise<readonly MigrationFacts[]>;
  getBudget(key: NamespacedName): Promise<BudgetFacts | undefined>;
  /** Whether Lifeboat has made any: one small request. */
  isAnyBudget(): Promise<boolean>;
  /** Those that Lifeboat has made, in a namespace. */
  listBudgets(namespace: string): Promise<readonly BudgetFacts[]>;
  listNodes(): Promise<readonly NodeFacts[]>;
  listPodsOf(vmi: VmiFacts): Promise<readonly PodFacts[]>;
  listPodsOn(node: string): Promise<readonly PodFacts[]>;
  /** Launcher pods of the VMIs, in one request for every hundred of them; ended ones and migration targets included. */
  listLaunchers(of: "All" | readonly VmiFacts[]): Promise<readonly LauncherFacts[]>;
  /** Minor versions: Kubernetes 1.36 is 36, KubeVirt 1.9 is 9; undefined where they do not say. */
  getMinorVersions(): Promise<{ readonly kubernetes: number | undefined; readonly kubevirt: number | undefined }>;
  getDeschedulingRegister(): Promise<DeschedulingRegister>;
  getCounters(): Promise<readonly EvacuationCount[]>;
  /** Throws unless the collection may be listed. */
  canList(resource: Resource): Promise<void>;
  /** Throws unless a mark would be kept, tried out on some running VMI by a dry run; nothing to try on is no failure. */
  proveMarking(kubevirtNamespace: string): Promise<void>;
  /** Throws unless launcher pods may be annotated, tried out on one by a dry run; none is no failure. */
  proveAnnotating(): Promise<void>;
  /** Of a ValidatingWebhookConfiguration; undefined also where it may not be read. */
  getWebhooks(configuration: string): Promise<readonly WebhookFacts[] | undefined>;
  getKubeVirt(): Promise<KubeVirtFacts | undefined>;
  /** The LifeboatConfiguration; undefined, too, where there is no such kind. */
  getConfiguration(): Promise<ConfigurationFacts | undefined>;
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
  const readKubeVirt = async () => {
    const path = collection("kubevirts");
    const { body } = await send({ method: "GET", path });
    // KubeVirt allows one per cluster. One that does not parse is not left out: its strategy protects VMs.
    const [first] = parseAnswer(schemas.Page, body, `GET ${path}`).items;
    return first === undefined ? undefined : parseAnswer(schemas.KubeVirt, first, `GET ${path}`);
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
    listEvacuations: (scope) =>
      readAll(send, {
        ...list,
        resource: "evacuations",
        schema: Evacuation,
        project: evacuationFacts,
        ...evacuationSelector(scope),
      }),
    createEvacuation: (evacuation) => createEvacuation(evacuation, { send }),
    withdraw: async (evacuation) => {
      const body = { spec: { intent: "Withdrawn" } };
      const contentType = "application/merge-patch+json";
      const path = object("evacuations", evacuation);
      const { code } = await send({ method: "PATCH", path, body, contentType, expect: [404] });
      return code === 404 ? "Conflict" : "Done";
    },
    listMigrations: (of) =>
      readAll(send, {
        ...list,
        resource: "virtualmachineinstancemigrations",
        of,
        namespace: of.namespace,
        // KubeVirt shortens longer names in the label: there the namespace is read.
        ...(of.name.length > LONGEST_LABEL ? {} : { labelSelector: `${names.VMI_NAME_LABEL}=${of.name}` }),
        schema: Migration,
        project: (item) => (item.spec.vmiName === of.name ? migrationFacts(item) : undefined),
      }),
    getBudget: async (key) => mapped(await readOne(send, "poddisruptionbudgets", key, schemas.Budget), budgetFacts),
    isAnyBudget: async () => {
      const path = collection("poddisruptionbudgets");
      const query = { labelSelector: OF_OURS, limit: "1" };
      const { body } = await send({ method: "GET", path, query });
      return parseAnswer(schemas.Page, body, `GET ${path}`).items.length > 0;
    },
    listBudgets: (namespace) =>
      readAll(sender(options.endpoint, AbortSignal.any([options.signal, AbortSignal.timeout(BUDGETS_MS)])), {
        ...list,
        resource: "poddisruptionbudgets",
        namespace,
        labelSelector: OF_OURS,
        schema: schemas.Budget,
        project: budgetFacts,
      }),
    listNodes: () => readAll(send, { ...list, resource: "nodes", schema: schemas.Node, project: nodeFacts }),
    listPodsOf,
    listPodsOn: (node) => readAll(send, { ...podList, fieldSelector: `spec.nodeName=${node}` }),
    listLaunchers: (of) => listLaunchers(send, of, onOddItem),
    getMinorVersions: async () => {
      const [version, kubevirt] = await Promise.all([send({ method: "GET", path: "/version" }), readKubeVirt()]);
      const { minor } = parseAnswer(schemas.Version, version.body, "GET /version");
      return { kubernetes: Number.parseInt(minor, 10) || undefined, kubevirt: kubevirt && kubeVirtMinor(kubevirt) };
    },
    getCounters: async () => countsOf((await getConfigMap(names.COUNTERS_CONFIG_MAP))?.data ?? {}),
    canList: async (resource) => {
      await send({ method: "GET", path: collection(resource), query: { limit: "1" } });
    },
    proveMarking: (kubevirtNamespace) => proveMarking(send, kubevirtAccount(kubevirtNamespace)),
    proveAnnotating: () => proveAnnotating(send),
    getWebhooks: async (name) => {
      const path = object("validatingwebhookconfigurations", { namespace: "", name });
      const { code, body } = await send({ method: "GET", path, expect: [403, 404] });
      return code >= 400 ? undefined : webhookFacts(parseAnswer(schemas.WebhookConfiguration, body, `GET ${path}`));
    },
    getKubeVirt: async () => mapped(await readKubeVirt(), kubeVirtFacts),
    getConfiguration: () => readConfiguration(send),
    getConfigMap,
    getDeschedulingRegister: async () => deschedulingRegisterOf(await getConfigMap(names.DESCHEDULING_CONFIG_MAP)),
    evict: (eviction) => evict(eviction, send),
    act: (action, { kubevirtNamespace, marking }) => act(action, { send, kubevirtNamespace, marking, now: now() }),
  };
}

const OF_OURS = `${names.MANAGED_BY_LABEL}=${names.MANAGED_BY}`;
/** For the budgets of one namespace: a list that hangs must not use up the time of the others. */
const BUDGETS_MS = 10_000;
const LONGEST_LABEL = 63;

function vmiSelector(scope: "Migrating" | { readonly node: string }): string {
  return scope === "Migrating" ? names.TARGET_NODE_LABEL : `${names.NODE_NAME_LABEL}=${scope.node}`;
}

/** The CRD's selectable fields know `=` and `!=` only. */
const NOT_ENDED = END_PHASES.map((phase) => `status.phase!=${phase}`).join(",");

function evacuationSelector(scope: Parameters<Cluster["listEvacuations"]>[0]) {
  if (scope === "All") return {};
  if (scope === "Active") return { fieldSelector: NOT_ENDED };
  if ("sourceNode" in scope) return { fieldSelector: `status.sourceNode=${scope.sourceNode}` };
  return { of: scope, namespace: scope.namespace, fieldSelector: `spec.virtualMachineInstance.name=${scope.name}` };
}

function mapped<P, F>(parsed: P | undefined, project: (parsed: P) => F): F | undefined {
  return parsed === undefined ? undefined : project(parsed);
}
