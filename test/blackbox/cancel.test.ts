/**
 * Cancelling: by the Evacuation's intent, and through the operator's door.
 */
import { afterEach, expect, test } from "vitest";
import { nodes, podDisruptionBudgets } from "../../infra/sandbox/actors/resources.ts";
import type * as kubevirt from "../../infra/sandbox/kubevirt/resources.ts";
import { evacuations } from "../../infra/tools/evacuations.ts";
import {
  ALONE,
  closeQueue,
  evacuationsOf,
  evict,
  launcherOf,
  migrationsOf,
  phasesOf,
  type Stage,
  type StageOptions,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

let stage: Stage;

afterEach(() => stage.stop());

const eventually = { timeout: 20_000 };
const LONG = { maxAttempts: 1, backoffSeconds: 300, maxBackoffSeconds: 600 };

/** A VM with its budget. */
async function start(name: string, options: StageOptions = {}): Promise<string> {
  stage = await startStage(options);
  const { status } = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  return status?.nodeName ?? "";
}

const evictVm = async (name: string) => await evict(stage.client, await launcherOf(stage.client, name));
const untilPhases = (name: string, phases: readonly string[]) =>
  expect.poll(() => phasesOf(stage.client, name), eventually).toEqual(phases);
const isUnmarked = ({ metadata, status }: kubevirt.VirtualMachineInstance) =>
  status?.evacuationNodeName === undefined && metadata.labels?.["lifeboat.dev/evacuation"] === undefined;

async function budgetSizes() {
  const { items } = await stage.client.list(podDisruptionBudgets, "vms");
  return items.map(({ spec }) => spec?.minAvailable);
}

async function withdraw(name: string): Promise<void> {
  const [active] = await evacuationsOf(stage.client, name);
  const body = { spec: { intent: "Withdrawn" } };
  await stage.client.patch(evacuations, active?.metadata ?? { name: "" }, { type: "merge", body });
}

async function ask(name: string): Promise<void> {
  expect(await stage.ask("DELETE", `/evacuations/vms/${name}`)).toMatchObject({ code: 200 });
}

test.each([
  ["spec.intent: Withdrawn", withdraw, {}],
  ["the operator's door", ask, {}],
  ["spec.intent: Withdrawn, KubeVirt's controller off", withdraw, ALONE],
  ["the operator's door, KubeVirt's controller off", ask, ALONE],
] as const)("by %s: no mark, no pending migration, no Warning, the back-off begins", async (_, cancel, options) => {
  const evacuation = { adoptSeconds: "evacuationController" in options ? 0 : 60, backoffSeconds: 2 };
  await start("kept", { configuration: { evacuation }, ...options });
  await closeQueue(stage.client);
  await evictVm("kept");
  await expect.poll(() => migrationsOf(stage.client, "kept"), eventually).toHaveLength(1);
  await untilPhases("kept", ["Migrating"]);
  expect(await stage.ask("GET", "/evacuations")).toMatchObject({
    code: 200,
    body: { evacuations: [{ spec: { vmiName: "kept", cause: "ApiEviction" }, status: { phase: "Migrating" } }] },
  });
  await cancel("kept");
  await untilPhases("kept", ["Withdrawn"]);
  await untilVmi(stage.client, "kept", "unmarked", isUnmarked);
  const unfinished = async () => (await migrationsOf(stage.client, "kept")).filter((m) => m.status?.phase !== "Failed");
  await expect.poll(unfinished, eventually).toEqual([]);
  const story = await storyOf(stage.client, "kept");
  expect(story).toContain("Normal EvacuationCancelled");
  expect(story.filter((sentence) => sentence.startsWith("Warning"))).toEqual([]);
  expect(await stage.ask("DELETE", "/evacuations/vms/kept")).toMatchObject({
    code: 404,
    body: { error: { reason: "NotEvacuating" } },
  });
  // KubeVirt may still act on what it has seen: the budget rests.
  expect(await budgetSizes()).toEqual([2]);
});

test("beside KubeVirt's webhook the drain's next request begins a new one, which says what it follows", async () => {
  await start("told", { configuration: { evacuation: LONG } });
  await closeQueue(stage.client);
  await evictVm("told");
  await untilPhases("told", ["Migrating"]);
  await ask("told");
  await untilVmi(stage.client, "told", "unmarked", isUnmarked);
  const answers: string[] = [];
  await expect
    .poll(async () => {
      answers.push((await evictVm("told")).message);
      return await evacuationsOf(stage.client, "told");
    }, eventually)
    .toMatchObject([{}, { spec: { requestedBy: "kubernetes-admin", inherited: { attempts: 0 } } }]);
  expect(answers.join("\n")).toMatch(/was withdrawn.*KubeVirt/);
});

test("cancelling is refused while the node carries the drain taint", async () => {
  await start("tainted", { nodes: ["node01"] });
  const taint = { key: "kubevirt.io/drain", effect: "NoSchedule" };
  await stage.client.patch(nodes, { name: "node01" }, { type: "merge", body: { spec: { taints: [taint] } } });
  await evictVm("tainted");
  const message = 'node "node01" carries the drain taint kubevirt.io/drain: remove that first';
  expect(await stage.ask("DELETE", "/evacuations/vms/tainted")).toMatchObject({
    code: 409,
    body: { error: { reason: "DrainTaint", message } },
  });
});
