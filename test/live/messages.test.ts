/** What a person reads while KubeVirt delays a migration, does not answer, or moves a VM whose evacuation was cancelled. */
import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../infra/sandbox/index.ts";
import { lifeboat, type Person } from "../support/cli/lifeboat.ts";
import { ALONE, NAMESPACE, type Stage } from "./stage.ts";
import { useStages } from "./stages.ts";
import { createVm, type Vm } from "./vm.ts";

const startStage = useStages();
let stage: Stage;

const call = (line: string) => {
  const person: Person = { kubeconfig: stage.sandbox.kubeconfig, meanwhile: () => stage.tick() };
  return lifeboat(`${line} -n ${NAMESPACE}`, person);
};

/** The cluster's, as far from the clocks of Lifeboat and of this machine. */
function clockAt(seconds: number): Clock {
  return { ...systemClock, now: () => new Date(Date.now() + seconds * 1000) };
}

const status = async (vm: Vm) => (await vm.evacuations())[0]?.status;
const phasesOfMigrations = async (vm: Vm) => (await vm.migrations()).map((one) => one.status?.phase ?? "").toSorted();

test(
  "KubeVirt delays the next attempt: the Evacuation says until when, and `lifeboat retry` has it begin now",
  { tags: ["backoff"] },
  async () => {
    // By this clock KubeVirt's back-off ends in an hour, however slow this machine is.
    const simulated = await startStage.simulated({ clock: clockAt(3_600) });
    stage = simulated;
    simulated.sandbox.migrations.configure({
      // Creation times are in whole seconds, and say which migration is the newest.
      seconds: 1.1,
      outcome: ({ attempt }) => (attempt === 1 ? "Failed" : "Succeeded"),
      backoffSeconds: 3_600,
    });
    const vm = await createVm(stage, "delayed");
    await vm.evict();
    const message = expect.stringMatching(
      /^migration kubevirt-evacuation-\S+ has failed: Live migration failed; KubeVirt's own back-off delays migration kubevirt-evacuation-\S+ until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    );
    await expect
      .poll(() => status(vm))
      .toMatchObject({ phase: "BackingOff", reason: "KubeVirtBackoff", attempts: 1, message });
    expect(await phasesOfMigrations(vm)).toEqual(["Failed", "Pending"]);

    expect((await call("retry delayed")).code).toBe(0);
    await vm.untilMoved();
    // No third one: the one that KubeVirt had created moved the VM.
    await expect.poll(() => phasesOfMigrations(vm)).toEqual(["Failed", "Succeeded"]);
    await expect.poll(vm.phases).toEqual(["Moved"]);
  },
);

test("`lifeboat retry` ends Lifeboat's own back-off; there is none to end in another phase", async () => {
  const evacuation = { backoffSeconds: 300, maxBackoffSeconds: 600, adoptSeconds: 0 };
  stage = await startStage({ ...ALONE, configuration: { evacuation } });
  stage.sandbox.migrations.configure({ outcome: () => "Failed" });
  const vm = await createVm(stage, "backs-off");
  await vm.evict();
  await expect.poll(vm.phases).toEqual(["BackingOff"]);
  stage.sandbox.migrations.configure({ outcome: () => "Succeeded" });
  const retried = await call("retry backs-off");
  expect(retried.code, retried.err.join("; ")).toBe(0);
  await vm.untilMoved();
  await expect.poll(vm.phases).toEqual(["Moved"]);
  const [moved] = await vm.evacuations();
  expect(moved?.status).toMatchObject({ attempts: 1, observedRetryAt: moved?.spec.retryAt });
  const again = await call("retry backs-off");
  expect(again).toMatchObject({ code: 1, err: [expect.stringContaining("backs off or was abandoned")] });
});

test("a cancel while the migration runs says that the VM still moves, as does the Evacuation", async () => {
  stage = await startStage();
  stage.sandbox.migrations.configure({ seconds: 3_600 });
  const vm = await createVm(stage, "moving");
  await vm.evict();
  await expect.poll(() => phasesOfMigrations(vm)).toEqual(["Running"]);
  await expect.poll(() => status(vm)).toMatchObject({ reason: "Running" });
  const [migration] = await vm.migrations();
  const { code, out, err } = await call("cancel moving");
  const message = `spec.intent is Withdrawn; migration ${migration?.metadata.name} already moves the VM, and Lifeboat lets it finish`;
  expect({ code, out }).toEqual({ code: 0, out: [expect.stringMatching(/ withdrawn$/)] });
  expect(err.at(-1)).toBe(`Withdrawn (IntentWithdrawn) – ${message}`);
  expect(await status(vm)).toMatchObject({
    phase: "Withdrawn",
    message,
    migration: { name: migration?.metadata.name },
  });
  expect(await phasesOfMigrations(vm)).toEqual(["Running"]);
});
