/** `lifeboat drain`, against the sandbox with Lifeboat as it is shipped: who leaves, who stays, exit codes. */
import { array, assert, asyncProperty, boolean, constantFrom, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { kubevirt, podDisruptionBudgets } from "../../../infra/sandbox/index.ts";
import { NAMESPACE } from "../stage.ts";
import { timesSaid, useDrains } from "./drain-stage.ts";

const on = useDrains();
const bare = useDrains({ evictionWebhook: false, ticking: false });

describe("given a node with VMs and other pods", () => {
  test("when a person drains it, VMs move, other pods go, DaemonSets stay: 0, and the node is cordoned", async () => {
    const node = await on.freshNode();
    const names = [await on.vmOn(node), await on.vmOn(node), await on.vmOn(node)];
    await on.createOtherPod({ node, name: `web-${node}`, controller: "ReplicaSet" });
    await on.createOtherPod({ node, name: `agent-${node}`, controller: "DaemonSet" });
    const { code, out, err } = await on.lifeboat(["drain", node]);
    expect({ code, out: out.trim() }).toEqual({
      code: 0,
      out: expect.stringMatching(`^√ node/${node} drained in .*: 3 VMs moved, 1 other pod evicted$`),
    });
    for (const name of names) {
      expect(await on.nodeOf(name)).not.toBe(node);
      expect(err).toMatch(`VM ${NAMESPACE}/${name}: moved to spare-`);
    }
    expect(err).toContain(`node/${node} cordoned`);
    expect(err).toContain("(3 of 3 VMs gone, 1 of 1 other pods gone)");
    expect(err).not.toContain("\u001B");
    expect(await on.isCordoned(node)).toBe(true);
    expect((await on.podsOn(node)).map(({ metadata }) => metadata.name)).toEqual([`agent-${node}`]);
  });

  // prettier-ignore
  test.each([
    ["without a controller", {},                                              "--force",                "Unmanaged"],
    ["with an emptyDir",     { controller: "ReplicaSet", emptyDir: true },    "--delete-emptydir-data", "LocalStorage"],
  ])("when a person drains it, a pod %s stays, and goes with %s", async (_, pod, flag, reason) => {
    const node = await on.freshNode();
    await on.createOtherPod({ node, name: `pod-${node}`, ...pod });
    const kept = await on.lifeboat(["drain", node, "--yes"]);
    expect({ code: kept.code, out: kept.out }).toEqual({ code: 3, out: expect.stringContaining(flag) });
    expect(kept.err).toContain(`blocked: ${reason}`);
    expect((await on.lifeboat(["drain", node, flag])).code).toBe(0);
    expect(await on.podsOn(node)).toEqual([]);
  });

  test("when a pod comes to the cordoned node, the drain leaves it there: it would come again", async () => {
    const node = await on.freshNode();
    await on.vmOn(node);
    const late = { node, name: `late-${node}`, controller: "ReplicaSet" };
    const meanwhile = (waits: number) => (waits === 0 ? on.createOtherPod(late) : undefined);
    expect((await on.lifeboat(["drain", node], { meanwhile })).code).toBe(0);
    expect((await on.podsOn(node)).map(({ metadata }) => metadata.name)).toEqual([late.name]);
  });

  // prettier-ignore
  test.each([
    ["allows it in time", 3,        0, "1 other pod evicted"],
    ["goes on refusing",  Infinity, 3, "1 blocked"],
  ])("when a budget %s", async (_, allowedAt, code, said) => {
    const node = await on.freshNode();
    const name = `guarded-${node}`;
    await on.createOtherPod({ node, name, controller: "ReplicaSet" });
    const metadata = { namespace: "default", name };
    const spec = { maxUnavailable: 0, selector: { matchLabels: { app: name } } };
    await on.stage.client.create(podDisruptionBudgets, { metadata, spec });
    const meanwhile = async (waits: number) => {
      if (waits === allowedAt) await on.stage.client.delete(podDisruptionBudgets, metadata);
    };
    const told = await on.lifeboat(["drain", node, "--yes"], { meanwhile });
    expect({ code: told.code, out: told.out }).toEqual({ code, out: expect.stringContaining(said) });
  });
});

interface Kind {
  readonly evictionStrategy: string;
  readonly migratable: boolean;
}

const isBlocking = ({ evictionStrategy, migratable }: Kind) =>
  evictionStrategy === "External" || (evictionStrategy === "LiveMigrate" && !migratable);

async function comesTrue(kinds: readonly Kind[]): Promise<void> {
  const node = await on.freshNode();
  const vms = await Promise.all(kinds.map(async (kind) => ({ ...kind, name: await on.vmOn(node, kind) })));
  const blocking = vms.filter(isBlocking);
  const dry = await on.lifeboat(["drain", node, "--dry-run"]);
  expect(await on.isCordoned(node)).toBe(false);
  const { code } = await on.lifeboat(["drain", node, "--yes"]);
  const blocks = blocking.length > 0;
  expect({ blocks: dry.out.startsWith("× WillBlock"), codes: [dry.code, code] }).toEqual({
    blocks,
    codes: blocks ? [3, 3] : [0, 0],
  });
  expect(await on.podsOn(node)).toHaveLength(blocking.length);
  for (const { name } of blocking) expect(await on.nodeOf(name)).toBe(node);
}

test(
  "given any VMs, the preflight's verdict comes true, and nothing that blocks is lost",
  { timeout: 120_000, tags: ["nightly"] },
  async () => {
    const strategies = ["LiveMigrate", "LiveMigrateIfPossible", "External", "None"] as const;
    const vm = record({ evictionStrategy: constantFrom(...strategies), migratable: boolean() });
    await assert(asyncProperty(array(vm, { minLength: 1, maxLength: 4 }), comesTrue), { numRuns: 6 });
  },
);

describe("given a VM that cannot move", () => {
  test.each([
    ["there is no terminal", {}, "--yes drains it all the same"],
    ["the person says no", { answer: "n" }, "nothing has been changed"],
  ])("when %s, the node is left as it is: 3", async (_, person, said) => {
    const node = await on.freshNode();
    await on.pinnedOn(node);
    const { code, err } = await on.lifeboat(["drain", node], person);
    expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(said) });
    expect(await on.isCordoned(node)).toBe(false);
  });

  test("when the person says --yes, the others move, it runs on, and what blocks is said once and at the end: 3", async () => {
    const node = await on.freshNode();
    const [pinned, other] = [await on.pinnedOn(node), await on.vmOn(node)];
    const { uid } = (await on.vmi(pinned)).metadata;
    const { code, out, err } = await on.lifeboat(["drain", node, "--yes"]);
    expect(code).toBe(3);
    expect(out).toContain(`node/${node} is not drained: 1 blocked (1 VM moved)`);
    for (const said of ["make the VM live-migratable, stop it", `kubectl uncordon ${node}`])
      expect(out).toContain(said);
    expect(timesSaid(err, "make the VM live-migratable, stop it")).toBe(1);
    expect(await on.nodeOf(other)).not.toBe(node);
    expect(await on.vmi(pinned)).toMatchObject({ metadata: { uid }, status: { phase: "Running", nodeName: node } });
  });

  test("when the person says --wait-for-blocked, the drain goes on until the owner has stopped it: 0", async () => {
    const node = await on.freshNode();
    const name = await on.pinnedOn(node);
    const meanwhile = async (waits: number) => {
      if (waits === 3) await on.stage.client.delete(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name });
    };
    const { code, out } = await on.lifeboat(["drain", node, "--wait-for-blocked"], { meanwhile });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("1 VM shut down") });
  });

  test("when nothing would refuse its eviction, neither webhook nor budget, it is not evicted: 3", async () => {
    const node = await bare.freshNode();
    const name = await bare.pinnedOn(node);
    await bare.stage.stopWorker();
    const { metadata } = await bare.vmi(name);
    expect((await bare.lifeboat(["drain", node, "--yes"])).code).toBe(3);
    expect(await bare.vmi(name)).toMatchObject({ metadata: { uid: metadata.uid }, status: { phase: "Running" } });
    expect((await bare.podsOn(node)).map((pod) => pod.metadata.deletionTimestamp)).toEqual([undefined]);
    await bare.stage.restartWorker();
  });
});

test("given a VM that its owner is to move, it is evicted once, and leaves when the owner migrates it: 0", async () => {
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
