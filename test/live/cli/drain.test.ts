/** Tests `lifeboat drain` against the sandbox with Lifeboat's shipped manifests. */
import { describe, expect, test } from "vitest";
import * as z from "zod/mini";
import { kubevirt } from "../../../infra/sandbox/index.ts";
import { NAMESPACE } from "../stage.ts";
import { useDrains } from "./drain-stage.ts";

const on = useDrains();

describe("given a node with VMs and other pods", () => {
  test("a drain moves VMs, evicts other pods, keeps DaemonSet pods, exits with 0, and reports each VM", async () => {
    const node = await on.freshNode();
    const names = [await on.vmOn(node), await on.vmOn(node), await on.vmOn(node)];
    await on.createOtherPod({ node, name: `web-${node}`, controller: "ReplicaSet" });
    await on.createOtherPod({ node, name: `agent-${node}`, controller: "DaemonSet" });
    const { code, out, err } = await on.lifeboat(`drain ${node} -y -o json`);
    expect(code).toBe(0);
    const [report] = Report.parse(JSON.parse(out.join("\n"))).nodes;
    expect(report).toMatchObject({ node, phase: "Evacuated", virtualMachines: { total: 3, left: 0 }, blockers: [] });
    expect(report?.vms.map(({ name, outcome }) => [name, outcome]).toSorted()).toEqual(
      names.map((name) => [name, "Moved"]),
    );
    for (const name of names) {
      expect(await on.nodeOf(name)).not.toBe(node);
      expect(err.join("\n")).toMatch(`VM ${NAMESPACE}/${name}: moved from node ${node} to node spare-`);
    }
    expect(await on.isCordoned(node)).toBe(true);
    expect(await on.podsOn(node)).toEqual([`agent-${node}`]);
  });

  // prettier-ignore
  test.each([
    ["without a controller", "",                       3, {}],
    ["with an emptyDir",     "--delete-emptydir-data", 0, { controller: "ReplicaSet", emptyDir: true }],
  ])("a pod %s: with %s the exit code is %i", async (_, flag, expected, pod) => {
    const node = await on.freshNode();
    const name = `pod-${node}`;
    await on.createOtherPod({ node, name, ...pod });
    const { code, err } = await on.lifeboat(`drain ${node} --yes ${flag}`);
    const isNamed = err.some((line) => line.startsWith(`default/${name} cannot leave`));
    expect({ code, isNamed, left: await on.podsOn(node) }).toEqual({
      code: expected,
      isNamed: expected !== 0,
      left: expected === 0 ? [] : [name],
    });
  });
});

test("a guest that shuts down because of an eviction is counted and named in the report", async () => {
  const node = await on.freshNode();
  const [moves, ends] = [await on.vmOn(node), await on.vmOn(node, { evictionStrategy: "None" })];
  const { code, out } = await on.lifeboat(`drain ${node} --yes -o json`);
  const [report] = Report.parse(JSON.parse(out.join("\n"))).nodes;
  const outcomes = Object.fromEntries((report?.vms ?? []).map(({ name, outcome }) => [name, outcome]));
  expect(outcomes).toEqual({ [moves]: "Moved", [ends]: "ShutDown" });
  expect(report).toMatchObject({ virtualMachines: { total: 2, shutDown: 1 } });
  expect([code, report?.["message"]]).toEqual([
    0,
    expect.stringContaining(`1 shut down by their eviction strategy (vms/${ends})`),
  ]);
});

const Report = z.object({
  nodes: z.array(z.looseObject({ vms: z.array(z.looseObject({ name: z.string(), outcome: z.string() })) })),
});

describe("given a VM that cannot move", () => {
  test("a drain that the person declines leaves the node as it is, and exits with 1", async () => {
    const node = await on.freshNode();
    await on.pinnedOn(node);
    const { code, err } = await on.lifeboat(`drain ${node}`, { terminal: true, answer: "n" });
    expect({ code, end: err.at(-1) }).toEqual({ code: 1, end: "error: nothing has been changed" });
    expect([await on.isCordoned(node), await on.maintenanceOf(node)]).toEqual([false, []]);
  });

  test("--when-blocked Restart asks first, and without a terminal exits with 2 and changes nothing", async () => {
    const node = await on.freshNode();
    const name = await on.restartableOn(node);
    const { code, err } = await on.lifeboat(`drain ${node} --when-blocked Restart`);
    expect(code).toBe(2);
    expect(err.join("\n")).toMatch(
      new RegExp(
        `WillSucceedWithShutdowns: [^]*VM vms/${name}: cannot migrate: KubeVirt restarts it[^]*nothing has been changed: .*--yes`,
      ),
    );
    expect([await on.isCordoned(node), await on.maintenanceOf(node)]).toEqual([false, []]);
  });

  test("with --yes the other VMs move, and drain names the VM and exits with 3, or with 0 once the owner has stopped the VM", async () => {
    const node = await on.freshNode();
    const [pinned, other] = [await on.pinnedOn(node), await on.vmOn(node)];
    const { code, out, err } = await on.lifeboat(`drain ${node} --yes`);
    expect({ code, first: out[0] }).toEqual({
      code: 3,
      first: expect.stringMatching(`^× node/${node}: Blocked: VMs or pods that cannot leave: 1;`),
    });
    expect(
      err.filter((line) => line.startsWith(`${NAMESPACE}/${pinned} cannot leave: it cannot migrate`)),
    ).toHaveLength(1);
    expect(await on.nodeOf(other)).not.toBe(node);
    expect((await on.vmi(pinned)).status).toMatchObject({ phase: "Running", nodeName: node });
    const meanwhile = async (waits: number) => {
      if (waits === 1)
        await on.stage.client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name: pinned });
    };
    const again = await on.lifeboat(`drain ${node} --wait-for-blocked`, { meanwhile });
    expect([again.code, (await on.maintenanceOf(node)).length]).toEqual([0, 1]);
  });
});

test("given several nodes, each drain starts when the previous node is empty and uncordoned", async () => {
  const nodes = [await on.freshNode({ pool: "several" }), await on.freshNode({ pool: "several" })];
  for (const node of nodes) await on.vmOn(node);
  const phases = async () => {
    const found = await Promise.all(nodes.map((node) => on.maintenanceOf(node)));
    return found.map(([one]) => one?.status?.phase);
  };
  const [first = ""] = nodes;
  let waited: readonly unknown[] = [];
  const meanwhile = async () => {
    const now = await phases();
    if (now[0] !== "Evacuated" || !(await on.isCordoned(first))) return;
    waited = now;
    await on.uncordon(first);
  };
  const { code } = await on.lifeboat("drain -y -l pool=several", { meanwhile });
  expect({ code, waited, phases: await phases() }).toEqual({
    code: 0,
    waited: ["Evacuated", undefined],
    phases: ["Evacuated", "Evacuated"],
  });
});

test("--dry-run says that --start-if refuses the drain, and creates nothing", async () => {
  const node = await on.freshNode();
  await on.restartableOn(node);
  const call = async (startIf: string) =>
    await on.lifeboat(`drain ${node} --dry-run --when-blocked Restart --start-if ${startIf}`);
  const [may, mayNot] = [await call("WillSucceedWithShutdowns"), await call("WillSucceed")];
  const refusal = `the drain of ${node} does not start: startIf is WillSucceed, and the verdict is WillSucceedWithShutdowns: `;
  expect([may.code, may.out.join("\n").includes("does not start")]).toEqual([0, false]);
  expect([mayNot.code, mayNot.out.at(-1)]).toEqual([3, expect.stringContaining(refusal)]);
  expect(await on.maintenanceOf(node)).toEqual([]);
});

test("--at schedules the drain with a forecast, and the node stays as it is", async () => {
  const node = await on.freshNode();
  await on.vmOn(node);
  const asked = "--at 2h --until 4h --order LargestFirst --when-blocked Restart --start-if WillSucceed --return";
  const { code, out } = await on.lifeboat(`drain ${node} -y ${asked} --reason kernel`);
  expect({ code, first: out[0] }).toEqual({ code: 0, first: expect.stringContaining(`node/${node}: Scheduled: `) });
  const [found] = await on.maintenanceOf(node);
  const { notBefore, notAfter } = Schedule.parse(found?.spec["schedule"]);
  expect(Date.parse(notAfter) - Date.parse(notBefore)).toBe(7_200_000);
  expect(found?.spec).toMatchObject({
    reason: "kernel",
    startIf: "WillSucceed",
    virtualMachines: { order: "LargestFirst", whenBlocked: "Restart" },
    otherPods: "Evict",
    afterwards: { returnVMs: "WhenUncordoned" },
  });
  expect([found?.status?.verdict, await on.isCordoned(node)]).toEqual(["WillSucceed", false]);
  // A second drain of the node must not succeed before the node is empty, because a script could reboot the node after
  // the second drain.
  const { code: joined, err } = await on.lifeboat(`drain ${node} --timeout 1s`);
  expect([joined, err.some((line) => line.endsWith("exists already, and this command follows it"))]).toEqual([1, true]);
});
const Schedule = z.object({ notBefore: z.string(), notAfter: z.string() });

// prettier-ignore
test.each([
  ["drain",                             "expected names of nodes, or --selector"],
  ["drain -l pool!=x",                  '--selector: expected key=value or key, got "pool!=x"'],
  ["drain node-1 --at tomorrow",        "argument 'tomorrow' is invalid. Expected 22:00 (the next 22:00 in your time zone), 2026-12-01T22:00:00+01:00, or a time from now such as 90m or 2h"],
  ["drain node-1 --at 2h --until 1h",   "--until: expected a time after "],
])("%s exits with 2 and names the expected value", async (line, said) => {
  const { code, err } = await on.lifeboat(line);
  expect({ code, err: err.join("\n") }).toEqual({ code: 2, err: expect.stringContaining(said) });
});
