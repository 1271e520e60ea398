/**
 * A cluster over a fake one. A test decides what happens before each request: fast-check's scheduler interleaves functions, a request fails, or
 * the world changes.
 */
import type { Scheduler } from "fast-check";
import type { Client } from "../../../shared/kube/client.ts";
import { ClusterError, type Failure } from "../../../shared/kube/failures.ts";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import type { DeschedulingClient } from "../../../shared/descheduling/client.ts";
import type { PodFacts } from "../../../shared/kube/facts.ts";
import { type Before, clientOf } from "./client.ts";
import type { FakeCluster } from "./fake-cluster.ts";

export type { Before };

function after(before: Before) {
  return async <T>(request: string, answer: () => T): Promise<T> => {
    await before(request);
    return answer();
  };
}

/** Of descheduling's own client. */
export function connectDescheduling(fake: FakeCluster, before: Before = () => undefined): DeschedulingClient {
  const when = after(before);
  const { descheduling } = fake;
  return {
    listPods: () => when("listPods", () => fake.pods.list().filter(isScheduledPod)),
    getLease: () => when("getLease", () => descheduling.lease),
    takeLease: (found, now) => when("TakeLease", () => descheduling.takeLease(found, now)),
    giveLeaseBack: (taken) => when("GiveLeaseBack", () => descheduling.giveLeaseBack(taken)),
    evict: ({ pod }, { dryRun }) => when("Evict", () => descheduling.evict(pod, dryRun)),
  };
}

export function connectTo(fake: FakeCluster, before: Before = () => undefined): Client {
  return clientOf(fake, before);
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
