/** `lifeboat drain`, against the sandbox with Lifeboat as it is shipped: who leaves, who stays, exit codes. */
import { array, assert, asyncProperty, boolean, constantFrom, record } from "fast-check";
import { describe, expect, test } from "vitest";
import { podDisruptionBudgets } from "../../../infra/sandbox/actors/resources.ts";
import { NAMESPACE } from "../stage.ts";
import { useDrains } from "./drain-stage.ts";

const on = useDrains();

test("VMs move, other pods go, DaemonSets stay: 0, the node is empty and cordoned", async () => {
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

test.each([
  ["drains", 0, "WillSucceed", false],
  ["blocks", 3, "WillBlock", true],
])("--dry-run of a node that %s: %d, the verdict is data, nothing is changed", async (_, code, verdict, pinned) => {
  const node = await on.freshNode();
  const name = await on.vmOn(node, { migratable: !pinned });
  const told = await on.lifeboat(["drain", node, "--dry-run"]);
  expect(told).toMatchObject({ code, out: expect.stringContaining(`${verdict}:`), err: "" });
  expect([await on.nodeOf(name), await on.isCordoned(node)]).toEqual([node, false]);
});

describe("other pods", () => {
  // prettier-ignore
  test.each([
    ["without a controller", {},                                              "--force",                "Unmanaged"],
    ["with an emptyDir",     { controller: "ReplicaSet", emptyDir: true },    "--delete-emptydir-data", "LocalStorage"],
  ])("%s: stays, and goes with %s", async (_, pod, flag, reason) => {
    const node = await on.freshNode();
    await on.createOtherPod({ node, name: `pod-${node}`, ...pod });
    const kept = await on.lifeboat(["drain", node, "--yes"]);
    expect({ code: kept.code, out: kept.out }).toEqual({ code: 3, out: expect.stringContaining(flag) });
    expect(kept.err).toContain(`blocked: ${reason}`);
    expect(await on.podsOn(node)).toHaveLength(1);
    expect((await on.lifeboat(["drain", node, flag])).code).toBe(0);
    expect(await on.podsOn(node)).toEqual([]);
  });

  test("one that comes to the cordoned node is left there: it would come again", async () => {
    const node = await on.freshNode();
    await on.vmOn(node);
    const late = { node, name: `late-${node}`, controller: "ReplicaSet" };
    const meanwhile = (waits: number) => (waits === 0 ? on.createOtherPod(late) : undefined);
    expect((await on.lifeboat(["drain", node], { meanwhile })).code).toBe(0);
    expect((await on.podsOn(node)).map(({ metadata }) => metadata.name)).toEqual([late.name]);
  });

  // prettier-ignore
  test.each([
    ["that allows it in time",  3,        0, "1 other pod evicted"],
    ["that goes on refusing",   Infinity, 3, "1 blocked"],
  ])("under a budget %s", async (_, allowedAt, code, said) => {
    const node = await on.freshNode();
    const name = `guarded-${node}`;
    await on.createOtherPod({ node, name, controller: "ReplicaSet" });
    const selector = { matchLabels: { app: name } };
    const metadata = { namespace: "default", name };
    await on.stage.client.create(podDisruptionBudgets, { metadata, spec: { maxUnavailable: 0, selector } });
    const meanwhile = async (waits: number) => {
      if (waits === allowedAt) await on.stage.client.delete(podDisruptionBudgets, metadata);
    };
    const told = await on.lifeboat(["drain", node, "--yes"], { meanwhile });
    expect({ code: told.code, out: told.out }).toEqual({ code, out: expect.stringContaining(said) });
    expect(await on.podsOn(node)).toHaveLength(code === 0 ? 0 : 1);
  });
});

/** Whatever runs on a node: what the preflight says of it comes true, and nothing that blocks is lost. */
test("WillSucceed: 0, and the node is empty; WillBlock: 3, and what blocks runs on", { timeout: 120_000 }, async () => {
  const strategies = ["LiveMigrate", "LiveMigrateIfPossible", "External", "None"] as const;
  const vm = record({ evictionStrategy: constantFrom(...strategies), migratable: boolean() });
  await assert(asyncProperty(array(vm, { minLength: 1, maxLength: 4 }), comesTrue), { numRuns: 6 });
});

interface Kind {
  readonly evictionStrategy: string;
  readonly migratable: boolean;
}

async function comesTrue(kinds: readonly Kind[]): Promise<void> {
  const node = await on.freshNode();
  const vms = await Promise.all(kinds.map(async (kind) => ({ ...kind, name: await on.vmOn(node, kind) })));
  const blocking = vms.filter(isBlocking);
  const { out } = await on.lifeboat(["drain", node, "--dry-run"]);
  const { code } = await on.lifeboat(["drain", node, "--yes"]);
  expect({ blocks: out.startsWith("× WillBlock"), code }).toEqual(
    blocking.length > 0 ? { blocks: true, code: 3 } : { blocks: false, code: 0 },
  );
  expect(await on.podsOn(node)).toHaveLength(blocking.length);
  for (const { name } of blocking) expect(await on.nodeOf(name)).toBe(node);
}

function isBlocking({ evictionStrategy, migratable }: Kind): boolean {
  return evictionStrategy === "External" || (evictionStrategy === "LiveMigrate" && !migratable);
}
