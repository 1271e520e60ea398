/**
 * Tests `lifeboat status` and `lifeboat report` after a maintenance has ended. A status lists only a limited number of
 * VMs.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeEvacuations, rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";
import { startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";

let cluster: SandboxCluster;
beforeAll(async () => {
  cluster = await startSandboxCluster();
  await create();
});
afterAll(() => cluster.stop());

const run = (line: string) => lifeboat(line, { kubeconfig: cluster.kubeconfig });
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000 - 60_000).toISOString();
const [STARTED, ENDED] = [hoursAgo(5), hoursAgo(3)];

const vm = (name: string, outcome: string) => ({ namespace: "apps", name, uid: `uid-of-${name}`, outcome });
const MOVED = Array.from({ length: 498 }, (_, index) => vm(`vm-${index}`, "Moved"));
const counts = { total: 620, left: 0, moving: 0, waiting: 0, blocked: 0, moved: 618, restarted: 2 };
const blocker = {
  namespace: "apps",
  name: "db",
  uid: "1",
  reason: "NotMigratable",
  message: "cannot migrate",
  since: STARTED,
};

async function create(): Promise<void> {
  const { client } = cluster;
  const { metadata } = await client.create(rollingMaintenances, {
    metadata: { name: "kernel" },
    spec: { nodes: { names: ["node-1"] } },
  });
  const controller = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", controller: true };
  const owner = { ...controller, name: "kernel", uid: metadata.uid };
  const name = "node-1-kernel";
  await client.create(nodeEvacuations, { metadata: { name, ownerReferences: [owner] }, spec: { nodeName: "node-1" } });
  const times = { startTime: STARTED, completionTime: ENDED };
  const outcomes = [vm("ledger", "Restarted"), vm("mail", "Restarted"), ...MOVED];
  const ofNode = { phase: "Evacuated", ...times, virtualMachines: counts, outcomes, blockers: [blocker] };
  const nodes = [{ name: "node-1", nodeEvacuation: name, phase: "Returned", ...times, virtualMachines: counts }];
  const nodeCounts = { total: 1, pending: 0, active: 0, evacuated: 1, failed: 0 };
  const ofAll = { phase: "Completed", message: "nodes evacuated: 1 of 1", ...times, nodes, nodeCounts };
  const as = { subresource: "status" } as const;
  await client.patch(nodeEvacuations, { name }, { type: "merge", body: { status: ofNode } }, as);
  await client.patch(rollingMaintenances, { name: "kernel" }, { type: "merge", body: { status: ofAll } }, as);
}

test("status without names omits ended maintenance", async () => {
  expect(await run("status")).toMatchObject({ code: 0, out: ["no maintenance is scheduled or in progress"] });
});

test("status with names shows the end, the time since then, and no earlier blocker", async () => {
  const { code, out, err } = await run("status rollm/kernel nodeevacuation/node-1-kernel");
  expect([code, err]).toEqual([0, []]);
  expect(out).toEqual([
    expect.stringMatching(/^OBJECT +PHASE/),
    expect.stringMatching(/^rollm\/kernel +Completed +1\/1 nodes +3h\S* +nodes evacuated: 1 of 1$/),
    expect.stringMatching(/^node\/node-1 \(node-1-kernel\) +Evacuated +620\/620 VMs +3h/),
  ]);
});

test("report counts all VMs, names each guest that ended, and exits with 3", async () => {
  const { code, out } = await run("report rollm/kernel");
  const row =
    /^node-1 +Returned .* 620 +2 Restarted, 498 Moved, 120 more VMs not listed \(of all VMs of this node, 618 have moved\)/;
  expect([code, out.filter((line) => row.test(line)).length]).toEqual([3, 1]);
  expect(out.filter((line) => / Restarted\b/.test(line) && !row.test(line))).toEqual([
    expect.stringMatching(/^node-1 +apps +ledger +Restarted/),
    expect.stringMatching(/^node-1 +apps +mail +Restarted/),
  ]);
  const json: unknown = JSON.parse((await run("report rollm/kernel -o json")).out.join("\n"));
  expect(json).toMatchObject({ reports: [{ nodes: [{ counts: { total: 620, moved: 618, restarted: 2 } }] }] });
});
