/** One cluster, as doors and reconcilers see it: facts to read, actions to perform. */
import type { Action, NewEvacuation } from "../policy/action.ts";
import { END_PHASES, type EndPhase, isUnfinished } from "../policy/evacuation/phase.ts";
import type { EvacuationFacts, NamespacedName, VmiFacts } from "../policy/facts.ts";
import * as names from "../policy/names.ts";
import type { Installation } from "../policy/webhooks/facts.ts";
import { act, createEvacuation } from "./act.ts";
import * as kubernetes from "./kinds/kubernetes.ts";
import { KubeVirt, Vmi } from "./kinds/kubevirt.ts";
import { Evacuation } from "./kinds/lifeboat.ts";
import { migrationReads } from "./migration-reads.ts";
import { OwnWebhooks } from "./kinds/webhooks.ts";
import { identityReviews } from "./identity-reviews.ts";
import { isVmiKey, object, type Resource } from "./paths.ts";
import { preflightReads } from "./preflight-reads.ts";
import { proveAnnotating } from "./prove.ts";
import { readConfiguration } from "./read-configuration.ts";
import { readRefusal } from "./read-refusal.ts";
import { countAll, type OnOddItem, parseAnswer, readAll, readItems, readOne } from "./read.ts";
import { type Endpoint, type Hold, type Send, sender } from "./transport.ts";
import { patch } from "./write.ts";

export interface ClusterOptions {
  readonly endpoint: Endpoint;
  /** Every request ends with this signal. */
  readonly signal: AbortSignal;
  /** A signal that aborts after so many milliseconds. */
  readonly timeout: (ms: number) => AbortSignal;
  readonly onOddItem: OnOddItem;
  readonly now: () => Date;
  /** Room for the answers. */
  readonly hold?: Hold;
}

/** 404 is undefined; what is no answer to the question throws a ClusterError. */
export type Cluster = ReturnType<typeof connect>;

export function connect({ endpoint, signal, timeout, onOddItem, now, hold }: ClusterOptions) {
  const send = sender(endpoint, signal, hold);
  const sendWithin = (ms: number) => sender(endpoint, AbortSignal.any([signal, timeout(ms)]), hold);
  return {
    ...preflightReads(send, onOddItem),
    ...podReads(send, onOddItem),
    ...vmiReads(send, onOddItem),
    ...migrationReads(send, onOddItem),
    ...evacuationReads(send, onOddItem),
    ...configurationReads(send),
    ...identityReviews(send),

    getNode: (name: string) => readOne(send, "nodes", { namespace: "", name }, kubernetes.Node),
    listNodes: () => readAll(send, { resource: "nodes", schema: kubernetes.Node, onOddItem }),

    getBudget: (key: NamespacedName) => readOne(send, "poddisruptionbudgets", key, kubernetes.Budget),
    /** Whether Lifeboat has made any: one small request. */
    isAnyBudget: async () =>
      (await readItems(send, "poddisruptionbudgets", { labelSelector: OURS, limit: "1" })).length > 0,
    /** Those of a namespace that Lifeboat made. A list that hangs must not use up the time of other namespaces'. */
    listBudgets: (namespace: string) =>
      readAll(sendWithin(BUDGETS_MS), {
        resource: "poddisruptionbudgets",
        namespace,
        labelSelector: OURS,
        schema: kubernetes.Budget,
        onOddItem,
      }),

    /** Of a node, tenants' own included: a list that takes long must not use up the time of the other nodes'. */
    listPodsOn: (node: string) =>
      readAll(sendWithin(PODS_MS), {
        resource: "pods",
        schema: kubernetes.Pod,
        fieldSelector: `spec.nodeName=${node}`,
        onOddItem,
      }),

    /** Throws if it is not permitted, as does the next one. */
    canList: (resource: Resource) => readItems(send, resource, { limit: "1" }),
    /** Tried on a launcher pod; without one there is no failure. */
    proveAnnotating: () => proveAnnotating(send),

    act: (action: Action) => act(action, { send, now: now() }),
  };
}

const OURS = `${names.MANAGED_BY_LABEL}=${names.MANAGED_BY}`;
const BUDGETS_MS = 10_000;
const PODS_MS = 5000;

function podReads(send: Send, onOddItem: OnOddItem) {
  const list = { resource: "pods", schema: kubernetes.Pod, onOddItem } as const;
  return {
    getPod: (key: NamespacedName) => readOne(send, "pods", key, kubernetes.Pod),
    listPodsOf: ({ namespace, uid }: VmiFacts) =>
      readAll(send, { ...list, namespace, labelSelector: `${names.CREATED_BY_LABEL}=${uid}` }),
    listLaunchersOn: (node: string) =>
      readAll(send, { ...list, labelSelector: kubernetes.LAUNCHER_SELECTOR, fieldSelector: `spec.nodeName=${node}` }),
    /** Launcher pods, of all VMIs or of one; ended ones and migration targets included. */
    listLaunchers(of: "All" | VmiFacts) {
      const ofOne = of === "All" ? "" : `,${names.CREATED_BY_LABEL}=${of.uid}`;
      const labelSelector = `${kubernetes.LAUNCHER_SELECTOR}${ofOne}`;
      return readAll(send, { ...list, schema: kubernetes.Launcher, labelSelector });
    },
  };
}

function vmiReads(send: Send, onOddItem: OnOddItem) {
  return {
    countVmis: () => countAll(send, "virtualmachineinstances"),
    getVmi: (key: NamespacedName) => readOne(send, "virtualmachineinstances", key, Vmi),
    /** `Migrating`: those handed over to a target pod that runs; the target's virt-handler takes the label off in the end. */
    listVmis(scope: "All" | "Migrating" | "Shielded" | { readonly node: string }) {
      const list = { resource: "virtualmachineinstances", schema: Vmi, onOddItem } as const;
      if (scope === "All") return readAll(send, list);
      const labels = { Migrating: names.TARGET_NODE_LABEL, Shielded: names.SHIELD_LABEL };
      const labelSelector = typeof scope === "string" ? labels[scope] : `${names.NODE_NAME_LABEL}=${scope.node}`;
      return readAll(send, { ...list, labelSelector });
    },
    /** When virt-handler was last refused to shut its guest down; `Unknown`: that may not be read. */
    getRefusal: (vmi: VmiFacts) => readRefusal(send, vmi),
  };
}

/** The CRD's selectable fields know `=` and `!=` only. */
const NOT_ENDED = selectorOf(END_PHASES);
/** No field tells of a condition. What is left of one that has moved the full scan finds; there are too many of them. */
const MAYBE_UNFINISHED = selectorOf(END_PHASES.filter((phase) => phase !== "Withdrawn" && phase !== "Abandoned"));

function selectorOf(excluded: readonly EndPhase[]): string {
  return excluded.map((phase) => `status.phase!=${phase}`).join(",");
}

function evacuationReads(send: Send, onOddItem: OnOddItem) {
  const list = { resource: "evacuations", schema: Evacuation, onOddItem } as const;
  return {
    /**
     * Of a VMI or a node: ended ones included. `Active`: those of the whole cluster that have not ended; `Unfinished`: also those whose mark
     * or migration is still to be taken back.
     */
    async listEvacuations(scope: "All" | "Active" | "Unfinished" | NamespacedName | { readonly sourceNode: string }) {
      if (scope === "All") return await readAll(send, list);
      if (scope === "Active") return await readAll(send, { ...list, fieldSelector: NOT_ENDED });
      if (scope === "Unfinished") {
        return (await readAll(send, { ...list, fieldSelector: MAYBE_UNFINISHED })).filter(isUnfinished);
      }
      if ("sourceNode" in scope) {
        return await readAll(send, { ...list, fieldSelector: `status.sourceNode=${scope.sourceNode}` });
      }
      if (!isVmiKey(scope)) return [];
      const { namespace, name } = scope;
      return await readAll(send, { ...list, namespace, fieldSelector: `spec.virtualMachineInstance.name=${name}` });
    },
    /** What was created, or joined under the same name; Conflict: one of that name has ended. */
    createEvacuation: (evacuation: NewEvacuation) => createEvacuation(evacuation, send),
    /** Ask for an `Evacuation` to be cancelled. Conflict: it is gone. */
    withdraw: (evacuation: EvacuationFacts) =>
      patch(send, object("evacuations", evacuation), { spec: { intent: "Withdrawn" } }, { 404: "Conflict" }),
    /** End its back-off. Conflict: it is gone, or does not back off any more (422, by the definition). */
    retry: (evacuation: EvacuationFacts, now: Date) =>
      patch(
        send,
        object("evacuations", evacuation),
        { spec: { retryAt: now.toISOString() } },
        { 404: "Conflict", 422: "Conflict" },
      ),
  };
}

function configurationReads(send: Send) {
  const getConfigMap = (name: string) =>
    readOne(send, "configmaps", { namespace: names.LIFEBOAT_NAMESPACE, name }, kubernetes.ConfigMap);
  /** KubeVirt allows one per cluster. One that does not parse is an error: its strategy protects VMs. */
  const getKubeVirt = async () => {
    const [first] = await readItems(send, "kubevirts");
    return first === undefined ? undefined : parseAnswer(KubeVirt, first, "GET of KubeVirt");
  };
  return {
    getConfigMap,
    getKubeVirt,
    /** The LifeboatConfiguration; undefined, too, where there is no such kind. */
    getConfiguration: () => readConfiguration(send),
    /** Of a ValidatingWebhookConfiguration; undefined also where it may not be read. */
    async getWebhooks(name: string) {
      const path = object("validatingwebhookconfigurations", { namespace: "", name });
      const { code, body } = await send({ method: "GET", path, expect: [403, 404] });
      return code >= 400 ? undefined : parseAnswer(kubernetes.WebhookConfiguration, body, `GET ${path}`).webhooks;
    },
    /** Lifeboat's own, of the guard or not: as it is installed. */
    async getOwnWebhooks(name: string): Promise<Installation> {
      const path = object("validatingwebhookconfigurations", { namespace: "", name });
      const { code, body } = await send({ method: "GET", path, expect: [403, 404] });
      if (code === 404) return "Absent";
      return code === 403 ? "Unread" : parseAnswer(OwnWebhooks, body, `GET ${path}`);
    },
    /** Every account may ask this. A proxy's 401 is none of the API server's: it throws. */
    isTokenAccepted: async () => (await send({ method: "GET", path: "/version", expect: [401] })).code !== 401,
    /** KubeVirt's; false also where it may not be read. */
    async hasPlugin(name: string) {
      const path = object("plugins", { namespace: "", name });
      return (await send({ method: "GET", path, expect: [403, 404] })).code < 400;
    },
    /** Minor versions: Kubernetes 1.36 is 36, KubeVirt 1.9 is 9; undefined where they do not say. */
    async getMinorVersions() {
      const [version, kubevirt] = await Promise.all([send({ method: "GET", path: "/version" }), getKubeVirt()]);
      const { minor } = parseAnswer(kubernetes.Version, version.body, "GET /version");
      return { kubernetes: Number.parseInt(minor, 10) || undefined, kubevirt: kubevirt?.minor };
    },
  };
}
