/** A NodeEvacuation of node01 with two VMs, `db` of which cannot migrate, and what KubeVirt does there. */
import { FakeCluster } from "../fake-cluster.ts";
import { NODE, PINNED } from "../fixtures.ts";
import { at, textOf } from "../json.ts";
import { object } from "../objects.ts";
import { launcher, node as roomy, vmiOf } from "../preflight/fixtures.ts";

const KEY = { name: "kernel" };

export function created(spec: object): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(roomy(NODE), roomy("node02"));
  for (const name of ["web", "db"]) {
    fake.vmis.put(vmiOf(name, name === "db" ? PINNED : {}));
    fake.pods.put(launcher(name));
    const metadata = { namespace: "apps", name, uid: `vm-${name}`, resourceVersion: "1" };
    fake.api.put("virtualmachines", { metadata, spec: { runStrategy: "Always" }, status: {} });
  }
  const metadata = { ...KEY, uid: "uid-of-kernel", resourceVersion: "1", creationTimestamp: "2026-03-01T11:00:00Z" };
  fake.api.put("nodeevacuations", { metadata, spec: object({ nodeName: NODE, ...spec }), status: {} });
  return fake;
}

/** What KubeVirt does between two functions: marked VMs migrate, restarted ones come up. */
export function kubevirt(fake: FakeCluster, restarted: ReadonlySet<string> = new Set()): void {
  for (const vmi of fake.vmis.list(({ nodeName }) => nodeName === NODE)) {
    const isRestarted = restarted.has(vmi.uid);
    if (vmi.evacuationNodeName !== NODE && !isRestarted) continue;
    const uid = isRestarted ? `${vmi.uid}-again` : vmi.uid;
    const pod = launcher(vmi.name, { uid: `pod-${vmi.name}-2`, nodeName: "node02" });
    fake.pods.delete(launcher(vmi.name));
    fake.pods.put({ ...pod, name: `${pod.name}-2` });
    const { evacuationNodeName: _, ...rest } = vmi;
    fake.vmis.put({ ...rest, uid, nodeName: "node02", activePods: { [pod.uid]: "node02" } });
  }
}

export const phaseOf = (fake: FakeCluster) => textOf(at(fake.api.object("nodeevacuations", KEY), "status", "phase"));
