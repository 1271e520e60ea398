/**
 * A limit of one, and an evacuation that was taken back and begins anew while a function that has decided on its first
 * migration stalls: nobody else migrates until that function cannot create it any more.
 */
import { expect, test } from "vitest";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { NOW, settings, vmi } from "./fixtures.ts";
import { SimulatedCluster } from "./simulation/cluster.ts";
import { reckon } from "./simulation/control-plane.ts";
import { evict } from "./simulation/kubevirt.ts";
import { pass, passAtOnce } from "./simulation/pass.ts";

const LIMITS = { parallelMigrationsPerCluster: 1, parallelOutboundMigrationsPerNode: 1 };

function vmOf({ vmis }: SimulatedCluster, name: string): VmiFacts {
  return [...vmis.values()].find((one) => one.name === name) ?? expect.unreachable(name);
}

function clusterWith(vms: Readonly<Record<string, string>>): SimulatedCluster {
  const cluster = new SimulatedCluster(settings({ limits: LIMITS, evacuation: { adoptSeconds: 0 } }), NOW);
  for (const [uid, nodeName] of Object.entries(vms)) {
    cluster.add(vmi({ name: uid, uid, nodeName, activePods: { [`pod-${uid}`]: nodeName } }));
  }
  return cluster;
}

function tick(cluster: SimulatedCluster): void {
  cluster.now = new Date(cluster.now.getTime() + 1);
}

/** Somebody else passes, and the disruption controller keeps up. */
function look(cluster: SimulatedCluster): void {
  tick(cluster);
  reckon(cluster);
  passAtOnce(cluster);
  reckon(cluster);
}

test.each([
  ["taken back", () => {}],
  ["taken back and asked for anew", (cluster: SimulatedCluster) => evict(cluster, vmOf(cluster, "web"))],
])("%s", (_, askAnew) => {
  const cluster = clusterWith({ web: "node01", db: "node02" });
  look(cluster);
  cluster.tainted.add("node01");
  for (let looks = 0; cluster.register.slots.length === 0 && looks < 9; looks++) look(cluster);
  tick(cluster);
  const stalled = pass(cluster);
  while (cluster.held.size === 0) stalled.next();

  cluster.tainted.delete("node01");
  look(cluster);
  tick(cluster);
  evict(cluster, vmOf(cluster, "db"));
  tick(cluster);
  askAnew(cluster);
  for (let looks = 0; looks < 4; looks++) look(cluster);
  while (stalled.next().done !== true);

  expect(cluster.unfinished().map(({ vmiName }) => vmiName)).toEqual(["web"]);
});
