/** Marks and who takes them back: cancelling, by the Evacuation's intent. */
import { expect, test } from "vitest";
import { nodes, podDisruptionBudgets } from "../../infra/sandbox/index.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { ALONE, closeQueue, NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm, type Vm } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

async function withdraw(vm: Vm): Promise<void> {
  const [active] = await vm.evacuations();
  const body = { spec: { intent: "Withdrawn" } };
  await stage.client.patch(evacuations, active?.metadata ?? { name: "" }, { type: "merge", body });
}

test.each([
  ["beside KubeVirt's controller", {}, 60],
  ["KubeVirt's controller off", ALONE, 0],
])("%s: no mark, no pending migration, no Warning", async (_, options, adoptSeconds) => {
  stage = await startStage({ configuration: { evacuation: { adoptSeconds, backoffSeconds: 2 } }, ...options });
  const vm = await createVm(stage, "kept");
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.migrations).toHaveLength(1);
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  await withdraw(vm);
  await expect.poll(vm.phases).toEqual(["Withdrawn"]);
  await vm.untilUnmarked();
  await expect.poll(async () => (await vm.migrations()).filter((m) => m.status?.phase !== "Failed")).toEqual([]);
  await expect.poll(vm.story).toContain("Normal EvacuationCancelled");
  expect((await vm.story()).filter((sentence) => sentence.startsWith("Warning"))).toEqual([]);
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  expect(items.map(({ spec }) => spec?.minAvailable)).toEqual([2]);
});

test("beside KubeVirt's webhook the drain's next request begins a new one, which says what it follows", async () => {
  const evacuation = { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600 };
  stage = await startStage({ configuration: { evacuation } });
  const vm = await createVm(stage, "told");
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  await withdraw(vm);
  await vm.untilUnmarked();
  const answers: string[] = [];
  const retry = async () => {
    // Of two refusals one is read; of the warnings all are.
    answers.push(Object.values(await vm.evict()).join(" "));
    return await vm.evacuations();
  };
  await expect
    .poll(retry)
    .toMatchObject([{}, { spec: { requestedBy: "kubernetes-admin", inherited: { attempts: 0 } } }]);
  expect(answers.join("\n")).toMatch(/was withdrawn.*KubeVirt/);
});

const released = async (vm: Vm) => {
  const [first] = await vm.evacuations();
  return first?.status?.conditions?.find(({ type }) => type === "Released");
};

test("with the drain taint KubeVirt keeps the mark, and the end says so", async () => {
  stage = await startStage({ nodes: ["node01"] });
  const vm = await createVm(stage, "drained");
  await closeQueue(stage.client);
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["Migrating"]);
  const taints = [{ key: "kubevirt.io/drain", effect: "NoSchedule" }];
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
  await withdraw(vm);
  const message = "KubeVirt keeps the mark: node node01 carries the drain taint kubevirt.io/drain";
  await expect.poll(() => released(vm)).toMatchObject({ status: "True", message });
});
