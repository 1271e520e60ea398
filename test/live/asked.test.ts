/** Evacuations that no eviction begins: a person creates one, or KubeVirt's mark is found. */
import { expect, test } from "vitest";
import { kubevirt } from "../../infra/sandbox/index.ts";
import { evacuations } from "../../infra/lab/stage/evacuations.ts";
import { NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm, evacuationsOf } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

/** As a person does: nothing but the VM's name. */
async function create(vmi: string): Promise<void> {
  const metadata = { name: `move-${vmi}`, namespace: NAMESPACE };
  await stage.client.create(evacuations, { metadata, spec: { virtualMachineInstance: { name: vmi } } });
}

test.each([
  ["KubeVirt's", {}],
  ["our own", { evacuationController: false, configuration: { evacuation: { adoptSeconds: 0 } } }],
])("with nothing but the VM's name moves it, cause Operator, by %s migration", async (_, options) => {
  stage = await startStage(options);
  const vm = await createVm(stage, "asked");
  await create("asked");
  await vm.untilMoved();
  const ended = { spec: { cause: "Operator" }, status: { phase: "Moved", sourceNode: vm.node } };
  await expect.poll(vm.evacuations).toMatchObject([ended]);
});

test("one of a VM that cannot migrate ends at once, in words", async () => {
  stage = await startStage();
  await createVm(stage, "asked", { migratable: false });
  await create("asked");
  const said = async () => {
    const [evacuation] = await evacuationsOf(stage.client, "asked");
    return `${evacuation?.status?.phase}: ${evacuation?.status?.message}`;
  };
  await expect.poll(said).toContain("Abandoned: the VM is not live-migratable");
});

test("the cron trigger alone moves a VM that another client has marked", async () => {
  stage = await startStage({ evacuationController: false, configuration: { evacuation: { adoptSeconds: 0 } } });
  const vm = await createVm(stage, "marked");
  const mark = [{ op: "add", path: "/status/evacuationNodeName", value: vm.node }];
  const kubeVirt = stage.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const key = { namespace: NAMESPACE, name: vm.name };
  await kubeVirt.patch(kubevirt.virtualMachineInstances, key, { type: "json", body: mark });
  expect((await vm.untilMoved()).status?.phase).toBe("Running");
});
