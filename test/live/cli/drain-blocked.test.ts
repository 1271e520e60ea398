/** `lifeboat drain` of a node with VMs that cannot move: they run on, unless the person who drains chooses to stop them. */
import { describe, expect, test } from "vitest";
import * as kubevirt from "../../../infra/sandbox/kubevirt/resources.ts";
import { NAMESPACE } from "../stage.ts";
import { timesSaid, useDrains } from "./drain-stage.ts";

const on = useDrains();

describe("a VM that cannot move", () => {
  test("without a terminal the node is left as it is: 3", async () => {
    const node = await on.freshNode();
    const names = [await on.pinnedOn(node), await on.vmOn(node)];
    const { code, err } = await on.lifeboat(["drain", node]);
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining("--yes drains it all the same") });
    expect(await on.isCordoned(node)).toBe(false);
    for (const name of names) expect(await on.nodeOf(name)).toBe(node);
  });

  test.each([
    ["--yes", ["--yes"], {}],
    ["a yes on the terminal", [], { answers: ["y"] }],
  ])("%s: the others move, it runs on, and what blocks is said once and at the end: 3", async (_, flags, person) => {
    const node = await on.freshNode();
    const [pinned, other] = [await on.pinnedOn(node), await on.vmOn(node)];
    const { uid } = (await on.vmi(pinned)).metadata;
    const { code, out, err } = await on.lifeboat(["drain", node, ...flags], person);
    expect(code).toBe(3);
    expect(out).toContain(`node/${node} is not drained: 1 blocked (1 VM moved)`);
    expect(out).toContain("make the VM live-migratable, stop it");
    expect(out).toContain(`kubectl uncordon ${node}`);
    expect(timesSaid(err, "make the VM live-migratable, stop it")).toBe(1);
    expect(await on.nodeOf(other)).not.toBe(node);
    expect(await on.vmi(pinned)).toMatchObject({
      metadata: { uid },
      status: { phase: "Running", nodeName: node },
    });
  });

  test("a no on the terminal: nothing is changed", async () => {
    const node = await on.freshNode();
    await on.pinnedOn(node);
    const { code, questions } = await on.lifeboat(["drain", node], { answers: ["n"] });
    expect({ code, questions }).toEqual({ code: 3, questions: [`Drain ${node} all the same? [y/N] `] });
    expect(await on.isCordoned(node)).toBe(false);
  });

  test("--wait-for-blocked goes on until its owner has stopped it: 0", async () => {
    const node = await on.freshNode();
    const name = await on.pinnedOn(node);
    const meanwhile = async (waits: number) => {
      if (waits === 3) await on.stage.client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name });
    };
    const { code, out } = await on.lifeboat(["drain", node, "--wait-for-blocked"], { meanwhile });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("1 VM shut down") });
    expect(await on.podsOn(node)).toEqual([]);
  });
});

test("a VM that its owner is to move is asked for once, and leaves when the owner migrates it: 0", async () => {
  const node = await on.freshNode();
  const vmiName = await on.vmOn(node, { evictionStrategy: "External" });
  const metadata = { namespace: NAMESPACE, name: `of-the-owner-of-${vmiName}` };
  const meanwhile = async (waits: number) => {
    if (waits !== 3) return;
    expect((await on.vmi(vmiName)).status?.evacuationNodeName).toBe(node);
    await on.stage.client.create(kubevirt.migrations, { metadata, spec: { vmiName } });
  };
  expect((await on.lifeboat(["drain", node, "--yes"], { meanwhile })).code).toBe(0);
  expect(await on.nodeOf(vmiName)).not.toBe(node);
});

test("a VM that has no room elsewhere: nothing is changed without a yes; with one it runs on, and the drain does not end", async () => {
  const node = await on.freshNode({ memory: "512Gi" });
  const name = await on.vmOn(node, { memory: "300Gi" });
  const kept = await on.lifeboat(["drain", node]);
  expect({ code: kept.code, err: kept.err }).toEqual({ code: 3, err: expect.stringMatching(/NoRoom: [^]*Resources/) });
  expect(await on.isCordoned(node)).toBe(false);
  const tried = await on.lifeboat(["drain", node, "--yes", "--timeout", "20s"]);
  expect({ code: tried.code, out: tried.out }).toEqual({ code: 1, out: expect.stringContaining("1 left") });
  expect((await on.vmi(name)).status).toMatchObject({ phase: "Running", nodeName: node });
});

describe("with no webhook that would refuse, and no budget", () => {
  const bare = useDrains({ evictionWebhook: false, ticking: false });

  test("a VM that cannot move is not asked for: it runs on, 3", async () => {
    const node = await bare.freshNode();
    const name = await bare.pinnedOn(node);
    await bare.createOtherPod({ node, name: "web", controller: "ReplicaSet" });
    await bare.stage.stopWorker();
    const { metadata } = await bare.vmi(name);
    expect((await bare.lifeboat(["drain", node, "--yes"])).code).toBe(3);
    expect(await bare.vmi(name)).toMatchObject({ metadata: { uid: metadata.uid }, status: { phase: "Running" } });
    const left = await bare.podsOn(node);
    expect(left.map((pod) => pod.metadata.deletionTimestamp)).toEqual([undefined]);
    await bare.stage.restartWorker();
  });
});

describe("--stop-blocked", () => {
  // prettier-ignore
  test.each([
    // run strategy      stopped: is then
    ["Always",         "Halted",         (name: string) => `virtctl start ${name} -n vms`],
    ["Manual",         "Manual",         (name: string) => `virtctl start ${name} -n vms`],
    ["RerunOnFailure", "RerunOnFailure", (name: string) => `virtctl start ${name} -n vms`],
    ["Once",           "Halted",         (name: string) => `kubectl patch vm ${name} -n vms --type merge -p '{"spec":{"runStrategy":"Once"}}'`],
  ])("%s: names it, stops it, says how it starts again: 0", async (runStrategy, after, startLine) => {
    const node = await on.freshNode();
    const name = await on.withObject(node, runStrategy);
    const { code, out, err, questions } = await on.lifeboat(["drain", node, "--stop-blocked"], { answers: ["y"] });
    expect({ code, questions }).toEqual({ code: 0, questions: ["Stop them? [y/N] "] });
    expect(err).toContain(`vms/${name} (run strategy ${runStrategy})`);
    expect(out).toContain("1 VM stopped");
    expect(out).toContain(startLine(name));
    expect(await on.isGone(name)).toBe(true);
    const vm = await on.stage.client.get(kubevirt.virtualMachines, { namespace: NAMESPACE, name });
    expect(vm?.spec.runStrategy).toBe(after);
  });

  test.each([
    ["a no on the terminal", ["--stop-blocked"], { answers: ["n", "y"] }],
    ["no terminal, no --yes", ["--stop-blocked"], {}],
  ])("%s: nothing is stopped: 3", async (_, flags, person) => {
    const node = await on.freshNode();
    const name = await on.withObject(node, "Always");
    expect((await on.lifeboat(["drain", node, ...flags], person)).code).toBe(3);
    expect(await on.nodeOf(name)).toBe(node);
  });

  test("a VMI without a VirtualMachine object cannot be stopped this way, which is said: 3", async () => {
    const node = await on.freshNode();
    const name = await on.pinnedOn(node);
    const { code, err } = await on.lifeboat(["drain", node, "--stop-blocked", "--yes"]);
    expect({ code, err }).toEqual({
      code: 3,
      err: expect.stringContaining(`VM vms/${name} has no VirtualMachine object`),
    });
    expect(await on.nodeOf(name)).toBe(node);
  });

  test("a VM that its owner is to move is not stopped: 3", async () => {
    const node = await on.freshNode();
    const name = await on.withObject(node, "Always", "External");
    const { code, err } = await on.lifeboat(["drain", node, "--stop-blocked", "--yes"]);
    expect({ code, isStopped: err.includes("is being stopped") }).toEqual({ code: 3, isStopped: false });
    expect((await on.vmi(name)).status).toMatchObject({ phase: "Running", nodeName: node });
  });

  test("--restart starts it again elsewhere: 0", async () => {
    const node = await on.freshNode();
    const name = await on.withObject(node, "Always");
    const { code, out } = await on.lifeboat(["drain", node, "--stop-blocked", "--restart", "--yes"]);
    expect(code).toBe(0);
    expect(out).not.toContain("virtctl");
    await expect.poll(async () => await on.nodeOf(name).catch(() => undefined)).toMatch(/^(spare|drained)-/);
    expect(await on.nodeOf(name)).not.toBe(node);
  });
});
