/** Runs one descheduling cycle on a fake cluster, and records its requests. */
import type { CycleReport } from "../../../../shared/descheduling/cycle/cycle.ts";
import { Lease, type LeaseFacts } from "../../../../shared/kube/schemas/lease.ts";
import type { DeschedulerPolicy, EnabledPlugin } from "../../../../shared/descheduling/cycle/policy.ts";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { deschedule } from "../../../../shared/descheduling/deschedule.ts";
import { type EvacuationFacts, isActive } from "../../../../shared/kube/evacuation.ts";
import { scheduledPodSchema } from "../../../../shared/kube/schemas/scheduled-pod.ts";
import { type Before, FakeCluster } from "../../../support/cluster.ts";
import { connectTo } from "../../../support/client.ts";
import { node, settings } from "../../../support/fixtures.ts";
import { type Heard, policy, scripted, vmiOf } from "../../../support/descheduling/worlds.ts";
import { isFinal, isLauncher } from "../../../../shared/kube/objects.ts";

export interface Options {
  readonly order: readonly string[];
  /** The plugins that run instead of the scripted plugin. */
  readonly plugins?: readonly EnabledPlugin[];
  readonly policy?: Partial<DeschedulerPolicy>;
  readonly before?: Before;
  readonly dryRun?: boolean;
}

export interface Done extends CycleReport {
  readonly heard: Heard;
  readonly requests: readonly string[];
}

export async function cycle(fake: FakeCluster, o: Options): Promise<Done> {
  const heard: Heard = [];
  const requests: string[] = [];
  const before: Before = (request) => {
    if (!/^(list|get)/.test(request)) requests.push(request);
    return o.before?.(request);
  };
  const cluster = connectTo(fake, before);
  const report = await deschedule({
    cluster,
    settings: settings({ featureGates: ["EvictionsInBackground"] }),
    policy: policy(o.plugins ?? [scripted(o.order, podsOf(fake), heard)], o.policy),
    dryRun: o.dryRun ?? false,
    seconds: 200,
    lease: undefined,
    now: () => fake.api.now(),
    onFailure: () => {},
  });
  return { ...report, heard, requests };
}

export function results({ nominations }: CycleReport): readonly string[] {
  return nominations.map(({ result }) => result);
}

/** Creates a cluster with two ready nodes. Each launcher pod gets a VMI. */
export function clusterOf(...pods: readonly ScheduledPod[]): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(node({ name: "node01" }), node({ name: "node02" }));
  for (const pod of pods) put(fake, pod);
  return fake;
}

export function put(fake: FakeCluster, pod: ScheduledPod): void {
  fake.pods.put(pod);
  if (isLauncher(pod)) fake.vmis.put(vmiOf(pod));
}

export function podsOf(fake: FakeCluster): readonly ScheduledPod[] {
  return fake.api.objects("pods").map((pod) => scheduledPodSchema().parse(pod));
}

export function annotated(fake: FakeCluster, name: string, annotations: ScheduledPod["annotations"]): void {
  const pod = podsOf(fake).find((one) => one.name === name);
  if (pod !== undefined) fake.pods.put({ ...pod, annotations });
}

const LEASE = { namespace: "lifeboat-system", name: "lifeboat-descheduling" };

export function leaseOf(fake: FakeCluster): LeaseFacts {
  const found = fake.api.object("leases", LEASE);
  return found ? Lease.parse(found) : {};
}

export function holdLease(fake: FakeCluster, acquireTime: string, leaseDurationSeconds: number): void {
  const spec = { holderIdentity: "lifeboat", acquireTime, leaseDurationSeconds };
  fake.api.put("leases", { metadata: { ...LEASE, uid: "lease", resourceVersion: "1" }, spec });
}

export function evacuationsOf(fake: FakeCluster, uid: string): readonly EvacuationFacts[] {
  return fake.evacuations.list(({ spec }) => spec.pod?.uid === uid);
}

export function setStatus(fake: FakeCluster, uid: string, status: Partial<EvacuationFacts["status"]>): void {
  for (const e of evacuationsOf(fake, uid).filter(isActive))
    fake.evacuations.put({ ...e, status: { ...e.status, ...status } });
}

export function leaving(fake: FakeCluster): readonly ScheduledPod[] {
  return podsOf(fake).filter((pod) => !isFinal(pod) && evacuationsOf(fake, pod.uid).some(isActive));
}

/** Returns a function that calls `happens` before the nth request that matches `requests`. */
export function nth(n: number, requests: RegExp, happens: Before): Before {
  let count = 0;
  return (request) => {
    if (requests.test(request) && (count += 1) === n) return happens(request);
    return undefined;
  };
}
