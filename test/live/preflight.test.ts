/** What is said before a node is drained comes true: the VM that moves moves where there is room, the pinned one is refused. */
import { afterEach, expect, test } from "vitest";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { NodePreflight } from "../support/cli/node-preflight.ts";
import { type Stage, startStage } from "./stage.ts";
import { createVm, evict, launcherOf } from "./vm.ts";

let stage: Stage;
afterEach(() => stage.stop());

async function said(node: string) {
  const { out } = await lifeboat(`explain node ${node} -o json`, { kubeconfig: stage.sandbox.kubeconfig });
  return NodePreflight.parse(JSON.parse(out.join("\n")));
}

test("a VM that can migrate: it has room, and an eviction moves it", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "web");
  const pod = await launcherOf(stage.client, "web");
  const { verdict, pods, time, unknown } = await said(vm.node);
  expect({ verdict, unknown, moves: time?.moves }).toEqual({ verdict: "WillSucceed", unknown: [], moves: 1 });
  const found = pods.find(({ name }) => name === pod.metadata.name);
  expect(found).toMatchObject({ vmi: "web", outcome: "Moves", room: { fits: true } });
  expect((await evict(stage.client, pod)).message).toContain(found?.eviction?.message);
  await vm.untilMoved();
});

test("a pinned VM: the drain is said not to end, and the eviction is refused in the same words", async () => {
  stage = await startStage();
  const vm = await createVm(stage, "pinned", { evictionStrategy: "LiveMigrate", migratable: false });
  const pod = await launcherOf(stage.client, "pinned");
  const { verdict, pods } = await said(vm.node);
  expect(verdict).toBe("WillBlock");
  const found = pods.find(({ name }) => name === pod.metadata.name);
  expect(found).toMatchObject({ outcome: "Blocked", reason: "NotMigratable" });
  expect((await evict(stage.client, pod)).message).toContain("is not live-migratable");
});
