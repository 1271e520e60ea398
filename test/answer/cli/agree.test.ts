/** Tests that each command that changes the cluster shows the context and the server, and asks for confirmation. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { evacuations, nodeEvacuations, rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { webhookConfigurations } from "../../../infra/lab/stage/webhooks.ts";
import { core, deployments, kubevirt, nodes } from "../../../infra/sandbox/index.ts";
import { createBareNode } from "../../support/installed/bare-node.ts";
import { NAMESPACE, startSandboxCluster, type SandboxCluster } from "../../support/installed/worker.ts";
import { lifeboat, type Person } from "../../support/cli/lifeboat.ts";

let cluster: SandboxCluster;
beforeAll(async () => {
  cluster = await startSandboxCluster();
  await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
  for (const name of ["node02", "node03"]) await createBareNode(cluster.client, name);
  await cluster.client.create(nodeEvacuations, { metadata: { name: "kernel" }, spec: { nodeName: "node01" } });
});
afterAll(() => cluster.stop());

const call = (line: string, person: Partial<Person> = {}) =>
  lifeboat(line, { kubeconfig: cluster.kubeconfig, ...person });

// prettier-ignore
const CHANGING = [
  // command                                    asks
  ["drain node02",                               /Drain node02( all the same)?\?/],
  ["drain node02 node03 --at 22:00",             /Drain node02, node03( all the same)?\?/],
  ["drain node02 --start-if WillSucceed",        /Drain node02( all the same)?\?/],
  ["drain node02 --wait-for-blocked",            /Drain node02( all the same)?\?/],
  ["pause node01",                               /Pause nodeevacuation\.lifeboat\.dev\/kernel\?/],
  ["resume node01",                              /Resume nodeevacuation\.lifeboat\.dev\/kernel\?/],
  ["cancel node01 vm/web -n apps",               /Cancel nodeevacuation\.lifeboat\.dev\/kernel, the evacuation of VM "web" in namespace "apps"\?/],
  ["cancel vm/web -n apps",                      /Cancel the evacuation of VM "web" in namespace "apps"\?/],
  ["evacuate web -n apps",                       /Evacuate VM "web" in namespace "apps" from node "node01"\?/],
  ["retry web -n apps",                          /Retry the evacuation of VM "web" in namespace "apps" now\?/],
  ["install --in-cluster --image a.example/b:1", /Install Lifeboat \S+ in this cluster, as pods of a\.example\/b:1, without optional features\?/],
  ["uninstall",                                  /Remove Lifeboat from this cluster\?/],
] as const;

const KINDS = [
  evacuations,
  nodeEvacuations,
  rollingMaintenances,
  nodes,
  kubevirt.virtualMachineInstances,
  core.namespaces,
  deployments,
  webhookConfigurations,
];

async function world(): Promise<unknown> {
  const lists = await Promise.all(KINDS.map((kind) => cluster.client.list(kind)));
  return lists.map(({ items }) => items);
}

test.each(CHANGING)("lifeboat %s asks before it changes the cluster", async (line, question) => {
  const before = await world();
  const asked: string[] = [];
  const refused = await call(line, { terminal: true, answer: "n", onQuestion: (text) => asked.push(text) });
  expect(refused).toMatchObject({ code: 1, where: expect.stringMatching(/^context "\S+", https:\/\/\S+$/), out: [] });
  expect([refused.err.at(-1), asked]).toEqual(["error: nothing has been changed", [expect.stringMatching(question)]]);
  const inScript = await call(line);
  expect([inScript.code, inScript.where, inScript.err.at(-1)]).toEqual([
    2,
    refused.where,
    "error: nothing has been changed: the command cannot ask, because there is no terminal. In a script, pass --yes",
  ]);
  expect(await world()).toEqual(before);
});

test("with --yes nobody is asked, and the command still names the cluster", async () => {
  const { code, where, out } = await call(`evacuate web -n ${NAMESPACE} --yes --no-wait`);
  expect([code, where, out]).toEqual([
    0,
    expect.stringMatching(/^context "\S+", https:/),
    [expect.stringMatching(/^evacuation\.lifeboat\.dev\/web-/)],
  ]);
  expect((await cluster.client.list(evacuations)).items).toHaveLength(1);
});

test.each(["explain node node02", "doctor", "plan", "status", "drain node02 --dry-run", "uninstall --dry-run"])(
  "lifeboat %s only reads, and does not ask",
  async (line) => expect((await call(line, { terminal: true })).where).toBeUndefined(),
);

test("resume of a node whose RollingMaintenance is paused names the RollingMaintenance, and changes nothing", async () => {
  const spec = { nodes: { names: ["node02"] }, progress: "Paused" };
  const { metadata } = await cluster.client.create(rollingMaintenances, { metadata: { name: "weekend" }, spec });
  const owner = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", name: "weekend", uid: metadata.uid };
  await cluster.client.create(nodeEvacuations, {
    metadata: { name: "part", ownerReferences: [{ ...owner, controller: true }] },
    spec: { nodeName: "node02", progress: "Paused" },
  });
  const { code, err } = await call("resume node02 --yes");
  const why =
    "NodeEvacuation part is part of RollingMaintenance weekend, which is paused. Resume the RollingMaintenance: lifeboat resume rollm/weekend";
  expect([code, err.at(-1)]).toEqual([1, `error: ${why}`]);
  expect(await cluster.client.get(nodeEvacuations, { name: "part" })).toMatchObject({ spec: { progress: "Paused" } });
  expect((await call("resume node02 rollm/weekend --yes")).code).toBe(0);
});

test("before Lifeboat reads a maintenance, report exits with 3, and status shows that the maintenance is paused", async () => {
  const spec = { nodes: { names: ["node03"] } };
  await cluster.client.create(rollingMaintenances, { metadata: { name: "unread" }, spec });
  const report = await call("report rollm/unread");
  expect([report.code, report.out[0]]).toEqual([3, "unread: Scheduled: Lifeboat has not processed the object yet"]);
  expect((await call("pause rollm/unread --yes")).code).toBe(0);
  const { code, out } = await call("status rollm/unread");
  expect([code, out.at(-1)]).toEqual([
    0,
    expect.stringMatching(
      /^rollm\/unread +Scheduled +paused: nothing new starts; Lifeboat has not processed the object yet$/,
    ),
  ]);
});
