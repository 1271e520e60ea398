/** Tests `lifeboat drain`, `pause`, `resume` and `cancel` of nodes whose VMs wait in KubeVirt's queue. */
import { expect, test } from "vitest";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { useDrains } from "./drain-stage.ts";

const on = useDrains();

test("after Ctrl-C a drain continues; pause and resume change the drain, and the same command follows the drain again", async () => {
  const node = await on.freshNode();
  const name = await on.vmOn(node);
  await on.limitMigrations(0);
  const stopped = await on.lifeboat(`drain ${node} -y`, { meanwhile: (waits, stop) => waits === 2 && stop() });
  expect(stopped.code).toBe(130);
  expect(stopped.out.join("\n")).toMatch(new RegExp(`lifeboat pause ${node} [^]*lifeboat cancel node/${node} `));
  expect((await on.lifeboat(`pause -y ${node}`)).code).toBe(0);
  expect((await on.lifeboat(`drain ${node} -y --timeout 1s`)).code).toBe(1);
  expect((await on.maintenanceOf(node))[0]?.spec.progress).toBe("Paused");
  expect((await on.lifeboat(`resume -y ${node}`)).code).toBe(0);
  await on.limitMigrations(5);
  const other = await on.lifeboat(`drain ${node} --when-blocked Restart --order LargestFirst`);
  expect(other.err.join()).toContain(
    "has not ended, and its options differ from yours: --order ByPriority, --when-blocked Wait. Cancel it first",
  );
  const { code, err } = await on.lifeboat(`drain ${node}`);
  expect({ code, first: err.some((line) => line.endsWith("exists already, and this command follows it")) }).toEqual({
    code: 0,
    first: true,
  });
  expect(await on.nodeOf(name)).not.toBe(node);
});

test("a bare name means a node, even if a NodeEvacuation of another node has the same name", async () => {
  const [node, other] = [await on.freshNode(), await on.freshNode()];
  const schedule = { notBefore: new Date(Date.now() + 86_400_000).toISOString() };
  const create = (name: string, nodeName: string) =>
    on.stage.client.create(nodeEvacuations, { metadata: { name }, spec: { nodeName, schedule } });
  await Promise.all([create(node, other), create(`kernel-${node}`, node)]);
  const progress = async () =>
    [(await on.maintenanceOf(node))[0], (await on.maintenanceOf(other))[0]].map((one) => one?.spec.progress);
  expect((await on.lifeboat(`pause -y ${node}`)).out).toEqual([`nodeevacuation.lifeboat.dev/kernel-${node} paused`]);
  expect(await progress()).toEqual(["Paused", "Running"]);
  expect((await on.lifeboat(`pause -y nodeevacuation/${node}`)).code).toBe(0);
  expect(await progress()).toEqual(["Paused", "Paused"]);
  expect((await on.lifeboat(`cancel -y nevac/${node}`)).code).toBe(0);
  expect((await on.lifeboat(`resume -y ${node}`)).code).toBe(0);
  expect(await progress()).toEqual(["Running", "Paused"]);
  const unknown = await on.lifeboat(`pause -y kernel-${node}`);
  expect(unknown.err).toEqual([expect.stringContaining(`nodeevacuation/kernel-${node}`)]);
});

test("cancel node/NAME keeps VMs that have not moved, and uncordons the node; the drain exits with 3", async () => {
  const node = await on.freshNode();
  const name = await on.vmOn(node);
  await on.limitMigrations(0);
  const meanwhile = async (waits: number) => {
    if (waits !== 1) return;
    const { code, out } = await on.lifeboat(`cancel -y node/${node}`);
    expect({ code, out }).toEqual({ code: 0, out: [expect.stringMatching(/cancelled$/)] });
  };
  expect((await on.lifeboat(`drain ${node} -y`, { meanwhile })).code).toBe(3);
  expect([await on.isCordoned(node), await on.nodeOf(name)]).toEqual([false, node]);
  expect((await on.lifeboat(`cancel -y node/${node}`)).err).toEqual([
    expect.stringContaining(`no maintenance of node "${node}" is scheduled or in progress`),
  ]);
  await on.limitMigrations(5);
});

test("a drain waits for an API server that does not answer for a while, and prints one message", async () => {
  const node = await on.freshNode();
  await on.vmOn(node);
  await on.limitMigrations(0);
  const meanwhile = async (waits: number) => {
    if (waits === 1) await on.stage.sandbox.apiServer.suspend();
    if (waits === 4) await on.stage.sandbox.apiServer.resume();
    if (waits === 5) await on.limitMigrations(5);
  };
  const { code, err } = await on.lifeboat(`drain ${node} -y`, { meanwhile });
  const silences = err.filter((line) => line.endsWith(": trying again")).length;
  expect({ code, silences }).toEqual({ code: 0, silences: 1 });
});
