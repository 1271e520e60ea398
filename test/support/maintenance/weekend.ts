/**
 * Creates a cluster with a RollingMaintenance of three nodes. Each of these nodes has a VM, and a fourth node has
 * enough capacity for all VMs. `takeBack` uncordons the empty nodes, as people would.
 */
import * as z from "zod/mini";
import { RollingMaintenance } from "../../../shared/kube/schemas/maintenance.ts";
import type { RollingMaintenanceFacts } from "../../../shared/kube/rolling-maintenance.ts";
import { SCHEMAS } from "../../../shared/kube/resources.ts";
import type { NodeEvacuationFacts } from "../../../shared/kube/node-evacuation.ts";
import { FakeCluster } from "../cluster.ts";
import { time } from "../fixtures.ts";
import { object } from "../cluster/objects.ts";
import { launcher, node as roomy, vmiOf } from "../preflight/fixtures.ts";

export const NAMES = ["node-1", "node-2", "node-3"];
const SPARE = "spare";
const KEY = { name: "weekend" };

export const inService = (name: string) => roomy(name, { virtHandler: { isSchedulable: true, saidAt: time(0) } });

export function weekend(spec: object = {}): FakeCluster {
  const fake = new FakeCluster();
  fake.nodes.put(...[...NAMES, SPARE].map(inService));
  for (const name of NAMES) {
    const vm = `vm-${name}`;
    fake.vmis.put(vmiOf(vm, { nodeName: name, activePods: { [`pod-${vm}`]: name } }));
    fake.pods.put(launcher(vm, { nodeName: name }));
    const metadata = { namespace: "apps", name: vm, uid: `vm-${vm}`, resourceVersion: "1" };
    fake.api.put("virtualmachines", { metadata, spec: { runStrategy: "Always" }, status: {} });
  }
  const metadata = { ...KEY, uid: "uid-of-weekend", resourceVersion: "1", creationTimestamp: "2026-03-01T11:00:00Z" };
  fake.api.put("rollingmaintenances", { metadata, spec: object({ nodes: { names: NAMES }, ...spec }), status: {} });
  return fake;
}

export function migrateMarked(fake: FakeCluster): void {
  for (const vmi of fake.vmis.list(({ evacuationNodeName, nodeName }) => evacuationNodeName === nodeName)) {
    const { evacuationNodeName: _, ...rest } = vmi;
    if (vmi.evacuationNodeName === undefined) continue;
    fake.pods.delete(launcher(vmi.name));
    fake.pods.put({ ...launcher(vmi.name, { uid: `pod-${vmi.name}-2`, nodeName: SPARE }), name: `${vmi.name}-2` });
    fake.vmis.put({ ...rest, nodeName: SPARE, activePods: { [`pod-${vmi.name}-2`]: SPARE } });
  }
}

export function takeBack(fake: FakeCluster): void {
  for (const { name, phase } of rollingOf(fake).status.nodes) {
    if (phase === "Evacuated") fake.nodes.put(inService(name));
  }
}

export function rollingOf(fake: FakeCluster): RollingMaintenanceFacts {
  return z.parse(RollingMaintenance, fake.api.object("rollingmaintenances", KEY));
}

export function evacuationsOf(fake: FakeCluster): readonly NodeEvacuationFacts[] {
  return fake.api.objects("nodeevacuations").map((one) => SCHEMAS.nodeevacuations.facts.parse(one));
}

export const change = (fake: FakeCluster, spec: object) => fake.api.merge("rollingmaintenances", KEY, { spec });
export const phasesOf = (fake: FakeCluster) => rollingOf(fake).status.nodes.map(({ phase }) => phase);
export const cordoned = (fake: FakeCluster) =>
  fake.nodes.list(({ unschedulable }) => unschedulable).map(({ name }) => name);
