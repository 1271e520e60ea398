/**
 * The client's interface over a fake cluster. A test decides what happens before each request: fast-check's scheduler interleaves
 * functions, a request fails, or the world changes.
 */
import type { Scheduler } from "fast-check";
import type { Cluster } from "../../shared/cluster/cluster.ts";
import { ClusterError, type Failure } from "../../shared/cluster/failure.ts";
import type { ScheduledPod } from "../../shared/policy/kube/scheduled-pod.ts";
import type { DeschedulingClient } from "../../shared/descheduling/client.ts";
import type { PreflightPod } from "../../shared/policy/preflight/facts.ts";
import { isActive, isUnfinished } from "../../shared/policy/evacuation/phase.ts";
import { type EvacuationFacts, keyOf, type PodFacts, type VmiFacts } from "../../shared/policy/facts.ts";
import type { LauncherFacts } from "../../shared/policy/annotations/launcher-facts.ts";
import { isLauncher } from "../../shared/policy/kube/pod-kind.ts";
import { CREATED_BY_LABEL } from "../../shared/policy/names.ts";
import type { FakeCluster } from "./fake-cluster.ts";

/** `request`: the method's name, or the verb of an action; `scope`: of a list of Evacuations. */
export type Before = (request: string, scope?: unknown) => unknown;

function after(before: Before) {
  return async <T>(request: string, answer: () => T, scope?: unknown): Promise<T> => {
    await before(request, scope);
    return answer();
  };
}

/** Of descheduling's own client. */
export function connectDescheduling(fake: FakeCluster, before: Before = () => undefined): DeschedulingClient {
  const when = after(before);
  const { descheduling } = fake;
  return {
    listPods: () => when("listPods", () => fake.pods.list().filter(isScheduledPod)),
    listNamespaceLabels: () => when("listNamespaceLabels", () => new Map()),
    listStorageClassesOfClaims: () => when("listStorageClassesOfClaims", () => new Map()),
    getPriorityClassValue: () => when("getPriorityClassValue", () => undefined),
    getLease: () => when("getLease", () => descheduling.lease),
    takeLease: (found, now) => when("TakeLease", () => descheduling.takeLease(found, now)),
    giveLeaseBack: (taken) => when("GiveLeaseBack", () => descheduling.giveLeaseBack(taken)),
    evict: ({ pod }, { dryRun }) => when("Evict", () => descheduling.evict(pod, dryRun)),
  };
}

export function connectTo(fake: FakeCluster, before: Before = () => undefined): Cluster {
  const when = after(before);
  const reads = (name: string) => when(name, () => undefined);
  return {
    getPod: (key) => when("getPod", () => fake.pods.get(key)),
    getVmi: (key) => when("getVmi", () => fake.vmis.get(key)),
    countVmis: () => when("countVmis", () => fake.vmis.list().length),
    getNode: (name) => when("getNode", () => fake.nodes.get({ name })),
    getBudget: (key) => when("getBudget", () => fake.budgets.get(key)),
    listVmis: (scope) => when("listVmis", () => fake.vmis.list((vmi) => isInScope(vmi, scope))),
    listEvacuations: (scope) => when("listEvacuations", () => fake.evacuations.list((e) => isListed(e, scope)), scope),
    listMigrations: ({ namespace, name }) =>
      when("listMigrations", () => [...fake.migrations.list((m) => m.namespace === namespace && m.vmiName === name)]),
    listMigrationsOf: (vmis) =>
      when("listMigrationsOf", () => {
        const wanted = new Set(vmis.map(keyOf));
        return fake.migrations.list(({ namespace, vmiName }) => wanted.has(keyOf({ namespace, name: vmiName })));
      }),
    getRefusal: ({ uid }) => when("getRefusal", () => fake.refusals.get(uid)),
    listNodes: () => when("listNodes", () => fake.nodes.list()),
    listPodsOf: ({ uid }) => when("listPodsOf", () => fake.pods.list((pod) => pod.labels[CREATED_BY_LABEL] === uid)),
    listPodsOn: (node) => when("listPodsOn", () => fake.pods.list(({ nodeName }) => nodeName === node)),
    listLaunchersOn: (node) =>
      when("listLaunchersOn", () => fake.pods.list((pod) => pod.nodeName === node && isLauncher(pod))),
    listLaunchers: (of) => when("listLaunchers", () => launchers(fake, of)),
    isAnyBudget: () => when("isAnyBudget", () => fake.budgets.list(({ managedByUs }) => managedByUs).length > 0),
    listBudgets: (namespace) =>
      when("listBudgets", () => fake.budgets.list((one) => one.managedByUs && one.namespace === namespace)),
    getKubeVirt: () => when("getKubeVirt", () => fake.kubeVirt),
    getConfiguration: () => when("getConfiguration", () => fake.configuration),
    getWebhooks: (name) => when("getWebhooks", () => fake.webhooks.get(name)),
    hasPlugin: () => when("hasPlugin", () => true),
    getOwnWebhooks: (name) => when("getOwnWebhooks", () => fake.ownWebhooks.get(name) ?? "Unread"),
    isTokenAccepted: () => when("isTokenAccepted", () => fake.isTokenAccepted),
    getConfigMap: () => when("getConfigMap", () => undefined),
    getMinorVersions: () => when("getMinorVersions", () => ({ kubernetes: undefined, kubevirt: undefined })),
    userOf: () => when("userOf", () => undefined),
    isAllowed: () => when("isAllowed", () => false),
    canList: (resource) => when(`canList ${resource}`, () => []),
    mayI: () => when("mayI", () => true),
    proveAnnotating: () => reads("proveAnnotating"),
    listNodesWithRoom: () =>
      when("listNodesWithRoom", () =>
        fake.nodes
          .list()
          .map((node) => ({ ...node, labels: {}, allocatable: { pods: 110, memory: node.allocatableMemory } })),
      ),
    listPreflightPods: (node) =>
      when("listPreflightPods", () => listed(fake.pods.list(({ nodeName }) => nodeName === node))),
    listNeighbours: (node) =>
      when("listNeighbours", () => listed(fake.pods.list(({ nodeName = node }) => nodeName !== node))),
    listQuotas: () => when("listQuotas", () => ({ items: [], odd: 0 })),
    listVolumes: () => when("listVolumes", () => ({ items: [], odd: 0 })),
    listAllBudgets: () => when("listAllBudgets", () => fake.budgets.list()),
    createEvacuation: (evacuation) => when("CreateEvacuation", () => fake.createEvacuation(evacuation)),
    withdraw: (evacuation) => when("Withdraw", () => fake.withdraw(evacuation)),
    retry: (evacuation, now) => when("Retry", () => fake.retry(evacuation, now)),
    act: (action) => when(action.verb, () => fake.act(action)),
  };
}

function isInScope(vmi: VmiFacts, scope: Parameters<Cluster["listVmis"]>[0]): boolean {
  if (scope === "All") return true;
  if (scope === "Shielded") return vmi.shield !== undefined;
  return scope === "Migrating" ? vmi.isMigrating : vmi.nodeName === scope.node;
}

function isListed(e: EvacuationFacts, scope: Parameters<Cluster["listEvacuations"]>[0]): boolean {
  if (scope === "All") return true;
  if (scope === "Active") return isActive(e);
  if (scope === "Unfinished") return isUnfinished(e) && e.status.phase !== "Moved";
  if ("sourceNode" in scope) return e.status.sourceNode === scope.sourceNode;
  return e.namespace === scope.namespace && e.spec.vmiName === scope.name;
}

function launchers({ pods }: FakeCluster, of: "All" | VmiFacts): readonly LauncherFacts[] {
  return pods.list(isLauncher).flatMap((pod) => {
    const vmiUID = pod.labels[CREATED_BY_LABEL] ?? "";
    const more = { resourceVersion: "1", hasAnnotations: true, createdAt: 0 };
    return of === "All" || of.uid === vmiUID ? [{ ...more, ...pod, vmiUID }] : [];
  });
}

/** What the pods of a fake cluster do not say, they do not ask for. */
function listed(pods: readonly PodFacts[]): { readonly items: readonly PreflightPod[]; readonly odd: number } {
  const placement = { nodeSelector: {}, preferred: [] };
  const asked = {
    placement,
    affinity: [],
    antiAffinity: [],
    spread: [],
    claims: [],
    localStorage: false,
    finalizers: [],
    unchecked: [],
  };
  return {
    items: pods.map((pod) => ({
      ...asked,
      requests: { memory: pod.memoryRequest ?? 0 },
      ...pod,
      nodeName: pod.nodeName ?? "",
    })),
    odd: 0,
  };
}

function isScheduledPod(pod: PodFacts): pod is ScheduledPod {
  return "placement" in pod;
}

/** Fast-check decides whose request is answered next. */
export function interleaved(scheduler: Scheduler): Before {
  return (request) => scheduler.schedule(Promise.resolve(), request);
}

export const UNREACHABLE: Failure = { reason: "Unreachable" };
export const FORBIDDEN: Failure = { reason: "Refused", code: 403, request: "the request" };

/** Each such request fails. */
export function failing(requests: RegExp, failure: Failure = UNREACHABLE): Before {
  return (request) => {
    if (requests.test(request)) throw new ClusterError(failure);
  };
}

/** Before the first such request. */
export function once(requests: RegExp, change: () => void): Before {
  let isDone = false;
  return (request) => {
    if (isDone || !requests.test(request)) return;
    isDone = true;
    change();
  };
}
