/**
 * One eviction at a time, through a real admission call: what the caller is told, and what becomes of the VM.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { podDisruptionBudgets } from "../../infra/sandbox/actors/resources.ts";
import {
  causesOf,
  evict,
  getVmi,
  hasSettledAwayFrom,
  launcherOf,
  launchersOf,
  migrationsOf,
  NAMESPACE,
  phasesOf,
  type Stage,
  startStage,
  storyOf,
  untilVmi,
} from "./stage.ts";

const DENIED = 'admission webhook "evictions.lifeboat.dev" denied the request: ';

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});
afterAll(() => stage.stop());

async function evictVm(name: string, more?: Record<string, unknown>) {
  const pod = await launcherOf(stage.client, name);
  return { pod, answer: await evict(stage.client, pod, more) };
}

/** KubeVirt's webhook reviews the same eviction: where it has marked the VM first, the evacuation is in progress already. */
function either(message: string) {
  const inProgress = message.replace("Eviction triggered", "Evacuation in progress: Eviction triggered");
  return expect.toSatisfy((said: unknown) => said === message || said === inProgress, message);
}

type Fate = "moved" | "marked" | "untouched" | "shut down";

function fateOf(strategy: string, code: number, message: string): Fate {
  if (code === 201) return "shut down";
  if (!message.includes("triggered")) return "untouched";
  return strategy === "External" ? "marked" : "moved";
}

async function expectFate(name: string, node: string, fate: Fate): Promise<void> {
  if (fate === "moved") await untilVmi(stage.client, name, "moved", hasSettledAwayFrom(node));
  else if (fate === "shut down")
    await untilVmi(stage.client, name, "shut down", (vmi) => vmi.status?.phase !== "Running");
  else {
    const marked = fate === "marked" ? node : undefined;
    expect((await getVmi(stage.client, name)).status?.evacuationNodeName).toBe(marked);
  }
}

describe("the first eviction", () => {
  // prettier-ignore
  const rows = [
    // strategy               migratable  code  message
    ["None",                  true,       201,  ""],
    ["None",                  false,      201,  ""],
    ["LiveMigrate",           true,       429,  `${DENIED}Eviction triggered evacuation of VMI "vms/VM"`],
    ["LiveMigrate",           false,      429,  `${DENIED}VMI "vms/VM" is configured with eviction strategy LiveMigrate but is not live-migratable: DisksNotLiveMigratable`],
    ["LiveMigrateIfPossible", true,       429,  `${DENIED}Eviction triggered evacuation of VMI "vms/VM"`],
    ["LiveMigrateIfPossible", false,      201,  ""],
    ["External",              true,       429,  `${DENIED}Eviction triggered evacuation of VMI "vms/VM"`],
    ["External",              false,      429,  `${DENIED}Eviction triggered evacuation of VMI "vms/VM"`],
  ] as const;

  test.each(rows)("%s, migratable %s: %d %s", async (evictionStrategy, migratable, code, message) => {
    const name = `first-${evictionStrategy.toLowerCase()}-${migratable}`;
    const { status } = await stage.createVm({ name, evictionStrategy, migratable });
    const { answer } = await evictVm(name);
    expect(answer).toMatchObject({ code, message: either(message.replace('VM"', `${name}"`)) });
    await expectFate(name, status?.nodeName ?? "", fateOf(evictionStrategy, code, message));
  });

  test("LiveMigrateIfPossible that cannot migrate is shut down, and the caller is warned", async () => {
    await stage.createVm({ name: "warned", evictionStrategy: "LiveMigrateIfPossible", migratable: false });
    const { answer } = await evictVm("warned");
    expect(answer.code).toBe(201);
    expect(answer.warnings).toContain('VMI \\"vms/warned\\" will be shut down');
  });
});

/** It rests for three minutes before it shrinks. */
async function budgetSizeOf(vmiUID: string) {
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  const [budget] = items.filter((b) => b.metadata.ownerReferences?.some((o) => o.uid === vmiUID));
  // KubeVirt deletes budgets whose controller is a VMI.
  expect(budget?.metadata.ownerReferences?.[0]?.controller).toBeUndefined();
  return budget?.spec?.minAvailable;
}

test("an evacuation from the eviction to the end: mark, budget, migration, story, nothing left", async () => {
  stage.sandbox.migrations.configure({ seconds: 1 });
  const { metadata, status } = await stage.createVm({ name: "whole", evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  const from = status?.nodeName ?? "";
  const { answer } = await evictVm("whole");
  expect(answer.message).toEqual(either(`${DENIED}Eviction triggered evacuation of VMI "vms/whole"`));

  const moved = await untilVmi(stage.client, "whole", "moved", hasSettledAwayFrom(from));
  expect(moved.metadata.uid).toBe(metadata.uid);
  const [migration, ...others] = await migrationsOf(stage.client, "whole");
  expect(others).toEqual([]);
  expect(migration).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^kubevirt-evacuation-/),
      annotations: { "kubevirt.io/evacuationMigration": from },
    },
    status: { phase: "Succeeded" },
  });
  await expect.poll(() => phasesOf(stage.client, "whole")).toEqual(["Moved"]);
  await expect.poll(() => causesOf(stage.client, "whole")).toEqual(["ApiEviction"]);
  expect(await budgetSizeOf(metadata.uid)).toBe(2);
  await expect
    .poll(() => storyOf(stage.client, "whole"))
    .toEqual(expect.arrayContaining(["Normal EvacuationTriggered", "Normal MigrationAdopted", "Normal Evacuated"]));
});

describe("a repeated eviction while the VM moves", () => {
  test("the answer says that it is in progress", async () => {
    await stage.createVm({ name: "repeat", evictionStrategy: "LiveMigrate" });
    stage.sandbox.migrations.configure({ seconds: 600 });
    await evictVm("repeat");
    await untilVmi(stage.client, "repeat", "migrating", (vmi) => vmi.status?.migrationState !== undefined);
    const message = `${DENIED}Evacuation in progress: Eviction triggered evacuation of VMI "vms/repeat"`;
    expect((await evictVm("repeat")).answer).toMatchObject({ code: 429, message });
  });

  test("the target of the migration is refused, and nothing is marked for it", async () => {
    const vmi = await getVmi(stage.client, "repeat");
    const launchers = await launchersOf(stage.client, vmi);
    const target = launchers.find((pod) => pod.spec?.nodeName !== vmi.status?.nodeName);
    if (target === undefined) throw new Error("no target pod");
    const answer = await evict(stage.client, target);
    expect(answer.code).toBe(429);
    expect(answer.message).toContain("Eviction request for target Pod");
    expect((await getVmi(stage.client, "repeat")).status?.evacuationNodeName).toBe(vmi.status?.nodeName);
  });
});

// prettier-ignore
test.each([
  ["in the query",             {},                                   "?dryRun=All"],
  ["in the Eviction's options", { deleteOptions: { dryRun: ["All"] } }, ""],
])("a dry run %s gets the same answer and writes nothing", async (where, more, query) => {
  const name = `dry-${query === "" ? "body" : "query"}`;
  const before = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  const [pod] = await launchersOf(stage.client, before);
  const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod?.metadata.name}/eviction${query}`;
  const metadata = { namespace: NAMESPACE, name: pod?.metadata.name };
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata, ...more };
  const answer = await stage.client.raw({ method: "POST", path, body });
  expect(answer.code, where).toBe(429);
  expect(answer.body).toMatchObject({ message: `${DENIED}Eviction triggered evacuation of VMI "vms/${name}"` });
  const after = await getVmi(stage.client, name);
  expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  expect(await storyOf(stage.client, name)).toEqual([]);
});
