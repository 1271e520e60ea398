/**
 * A cluster over a fake one. A test decides what happens before each request: fast-check's scheduler interleaves functions, a request fails, or
 * the world changes.
 */
import type { Scheduler } from "fast-check";
import { type Cluster, underTheirNames } from "../../shared/cluster/cluster.ts";
import { ClusterError, type Failure } from "../../shared/kube/failures.ts";
import type { DeschedulerPod } from "../../shared/descheduling/plugins/facts.ts";
import type { PodFacts } from "../../shared/policy/facts.ts";
import { type Before, clientOf } from "./client.ts";
import type { FakeCluster } from "./fake-cluster.ts";

export type { Before };

export function connectTo(fake: FakeCluster, before: Before = () => undefined): Cluster {
  const when = async <T>(request: string, answer: () => T): Promise<T> => {
    await before(request);
    return answer();
  };
  const client = clientOf(fake, before);
  return {
    ...client,
    ...underTheirNames(client, () => fake.now()),
    countVmis: () => when("countVmis", () => fake.vmis.list().length),
    getDeschedulingLease: () => when("getDeschedulingLease", () => fake.descheduling.lease),
    takeDeschedulingLease: (found, now) => when("TakeLease", () => fake.descheduling.takeLease(found, now)),
    giveDeschedulingLeaseBack: (taken) => when("GiveLeaseBack", () => fake.descheduling.giveLeaseBack(taken)),
    listDeschedulerNodes: () =>
      when("listDeschedulerNodes", () =>
        fake.nodes.list().map((node) => ({ ...node, labels: {}, allocatable: { pods: 110 } })),
      ),
    listDeschedulerPods: () => when("listDeschedulerPods", () => fake.pods.list().filter(isDeschedulerPod)),
    listAllBudgets: () => when("listAllBudgets", () => fake.budgets.list()),
    listNamespaceLabels: () => when("listNamespaceLabels", () => new Map()),
    listStorageClassesOfClaims: () => when("listStorageClassesOfClaims", () => new Map()),
    getPriorityClassValue: () => when("getPriorityClassValue", () => undefined),
    evict: ({ pod }, { dryRun = false }) => when("Evict", () => fake.descheduling.evict(pod, dryRun)),
  };
}

function isDeschedulerPod(pod: PodFacts): pod is DeschedulerPod {
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
