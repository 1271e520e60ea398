/**
 * Evacuations that no eviction begins: a person creates one, or KubeVirt's mark is found.
 */
import { afterEach, expect, test } from "vitest";
import * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import {
  closeQueue,
  evacuationsOf,
  hasSettledAwayFrom,
  NAMESPACE,
  phasesOf,
  type Stage,
  type StageOptions,
  startStage,
  untilVmi,
} from "./stage.ts";

let stage: Stage;

afterEach(() => stage.stop());

const eventually = { timeout: 20_000 };

/** A VM with its budget. */
async function start(name: string, options: StageOptions = {}): Promise<string> {
  stage = await startStage(options);
  const { status } = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  return status?.nodeName ?? "";
}

const untilPhases = (name: string, phases: readonly string[]) =>
  expect.poll(() => phasesOf(stage.client, name), eventually).toEqual(phases);

/** As a person does: nothing but the VM's name. */
async function create(vmi: string, name = `move-${vmi}`): Promise<void> {
  const metadata = { name, namespace: NAMESPACE };
  await stage.client.create(evacuations, { metadata, spec: { virtualMachineInstance: { name: vmi } } });
}

test.each([
  ["KubeVirt's", {}],
  ["our own", { evacuationController: false, configuration: { evacuation: { adoptSeconds: 0 } } }],
])("with nothing but the VM's name moves it, cause Operator, by %s migration", async (_, options) => {
  const from = await start("asked", options);
  await create("asked");
  await untilVmi(stage.client, "asked", "moved", hasSettledAwayFrom(from));
  await untilPhases("asked", ["Moved"]);
  const [evacuation] = await evacuationsOf(stage.client, "asked");
  expect(evacuation).toMatchObject({ spec: { cause: "Operator" }, status: { sourceNode: from } });
});

// prettier-ignore
test.each([
  ["a VM that does not exist",  undefined,                                               "Gone: there is no VirtualMachineInstance of this name"],
  ["a VM that cannot migrate",  { evictionStrategy: "LiveMigrate", migratable: false },  "Abandoned: the VM is not live-migratable"],
  ["eviction strategy None",    { evictionStrategy: "None" },                            "Abandoned: its eviction strategy is None"],
] as const)("%s ends at once, in words", async (_, vm, ended) => {
  await start("other");
  if (vm !== undefined) await stage.createVm({ name: "asked", ...vm });
  await create("asked");
  const said = async () => {
    const [evacuation] = await evacuationsOf(stage.client, "asked");
    return `${evacuation?.status?.phase}: ${evacuation?.status?.message}`;
  };
  await expect.poll(said, eventually).toContain(ended);
});

test("a second one of the same pod ends as Duplicate", async () => {
  await start("twice");
  await closeQueue(stage.client);
  await create("twice", "first-1");
  await untilPhases("twice", ["Migrating"]);
  await create("twice", "second-2");
  await untilPhases("twice", ["Migrating", "Duplicate"]);
});
test("the cron trigger alone moves what somebody has marked", async () => {
  const from = await start("marked");
  const mark = [{ op: "add", path: "/status/evacuationNodeName", value: from }];
  const kubeVirt = stage.client.as("system:serviceaccount:kubevirt:kubevirt-apiserver");
  const key = { namespace: "vms", name: "marked" };
  await kubeVirt.patch(kubevirt.virtualMachineInstances, key, { type: "json", body: mark });
  const moved = await untilVmi(stage.client, "marked", "moved", hasSettledAwayFrom(from));
  expect(moved.status?.phase).toBe("Running");
});
