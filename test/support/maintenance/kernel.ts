/**
 * Creates a NodeEvacuation of node01, and simulates KubeVirt on the node. By default, the node has two VMs, and the VM
 * `db` cannot migrate.
 */
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { FakeCluster } from "../cluster.ts";
import { NODE, PINNED } from "../fixtures.ts";
import { at, textOf } from "../json.ts";
import { object } from "../cluster/objects.ts";
import { launcher, node as roomy, vmiOf } from "../preflight/fixtures.ts";

const KEY = { name: "kernel" };

export interface Vm {
  readonly name: string;
  readonly vmi: Partial<VmiFacts>;
  readonly runStrategy: string;
}

const TWO: readonly Vm[] = [
  { name: "web", vmi: {}, runStrategy: "Always" },
  { name: "db", vmi: PINNED, runStrategy: "Always" },
];

export function created(spec: object, vms = TWO): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(roomy(NODE), roomy("node02"));
  for (const { name, vmi, runStrategy } of vms) {
    fake.vmis.put(vmiOf(name, vmi));
    fake.pods.put(launcher(name));
    const metadata = { namespace: "apps", name, uid: `vm-${name}`, resourceVersion: "1" };
    fake.api.put("virtualmachines", { metadata, spec: { runStrategy }, status: {} });
  }
  const metadata = { ...KEY, uid: "uid-of-kernel", resourceVersion: "1", creationTimestamp: "2026-03-01T11:00:00Z" };
  fake.api.put("nodeevacuations", { metadata, spec: object({ nodeName: NODE, ...spec }), status: {} });
  return fake;
}

/** Simulates KubeVirt. Migrates the VMs with an evacuationNodeName that `isIts` selects, and starts restarted VMs. */
export function kubevirt(
  fake: FakeCluster,
  restarted: ReadonlySet<string> = new Set(),
  isIts: (vmi: VmiFacts) => boolean = () => true,
): void {
  for (const vmi of fake.vmis.list(({ nodeName }) => nodeName === NODE)) {
    const isRestarted = restarted.has(vmi.uid);
    const isMigrated = vmi.evacuationNodeName === NODE && isIts(vmi);
    if (!isMigrated && !isRestarted) continue;
    const uid = isRestarted ? `${vmi.uid}-again` : vmi.uid;
    const pod = launcher(vmi.name, { uid: `pod-${vmi.name}-2`, nodeName: "node02" });
    fake.pods.delete(launcher(vmi.name));
    fake.pods.put({ ...pod, name: `${pod.name}-2` });
    const { evacuationNodeName: _, ...rest } = vmi;
    fake.vmis.put({ ...rest, uid, nodeName: "node02", activePods: { [pod.uid]: "node02" } });
  }
}

export const phaseOf = (fake: FakeCluster) => textOf(at(fake.api.object("nodeevacuations", KEY), "status", "phase"));
export const verdictOf = (fake: FakeCluster) =>
  textOf(at(fake.api.object("nodeevacuations", KEY), "status", "verdict"));
