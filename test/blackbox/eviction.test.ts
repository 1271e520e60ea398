/**
 * One eviction at a time, through a real admission call: what the caller is told, and what becomes of the VM.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { podDisruptionBudgets } from "../../infra/sandbox/actors/resources.ts";
import { kubeVirts } from "../../infra/sandbox/kubevirt/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import {
  evict,
  getVmi,
  hasSettledAwayFrom,
  launcherOf,
  launchersOf,
  migrationsOf,
  NAMESPACE,
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
    expect(answer).toMatchObject({ code, message: message.replace('VM"', `${name}"`) });
    await expectFate(name, status?.nodeName ?? "", fateOf(evictionStrategy, code, message));
  });

  test("LiveMigrateIfPossible that cannot migrate is shut down, and the caller is warned", async () => {
    await stage.createVm({ name: "warned", evictionStrategy: "LiveMigrateIfPossible", migratable: false });
    const { answer } = await evictVm("warned");
    expect(answer.code).toBe(201);
    expect(answer.warnings).toContain('VMI \\"vms/warned\\" will be shut down');
  });
});

async function expectBudgetBackAt1(vmiUID: string): Promise<void> {
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  const [budget] = items.filter((b) => b.metadata.ownerReferences?.some((o) => o.uid === vmiUID));
  if (budget === undefined) throw new Error("the VMI has no budget");
  expect(budget.spec?.minAvailable).toBe(1);
  // KubeVirt deletes budgets whose controller is a VMI.
  expect(budget.metadata.ownerReferences?.[0]?.controller).toBeUndefined();
  await waitFor(stage.client, {
    resource: podDisruptionBudgets,
    key: budget.metadata,
    what: "allowing no disruption",
    until: (b) => b.status?.disruptionsAllowed === 0 && b.status.desiredHealthy === 1,
  });
}

test("an evacuation from the eviction to the end: mark, budget, migration, story, nothing left", async () => {
  const { metadata, status } = await stage.createVm({ name: "whole", evictionStrategy: "LiveMigrate" });
  await stage.reconcile();
  const from = status?.nodeName ?? "";
  const { answer } = await evictVm("whole");
  expect(answer.message).toBe(`${DENIED}Eviction triggered evacuation of VMI "vms/whole"`);

  const moved = await untilVmi(stage.client, "whole", "moved", hasSettledAwayFrom(from));
  expect(moved.metadata.uid).toBe(metadata.uid);
  const [migration, ...others] = await migrationsOf(stage.client, "whole");
  expect(others).toEqual([]);
  expect(migration).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^lifeboat-whole-[0-9a-f]{8}-1$/),
      annotations: {
        "kubevirt.io/evacuationMigration": from,
        "lifeboat.dev/cause": "ApiEviction",
        "lifeboat.dev/attempt": "1",
      },
    },
    status: { phase: "Succeeded" },
  });
  await expectBudgetBackAt1(metadata.uid);
  await expect
    .poll(() => storyOf(stage.client, "whole"))
    .toEqual(expect.arrayContaining(["Normal EvacuationTriggered", "Normal MigrationCreated", "Normal Evacuated"]));
});

describe("a repeated eviction while the VM moves", () => {
  const slow = { seconds: 600 };

  test("without DeschedulerSupport the budget answers", async () => {
    await stage.createVm({ name: "repeat", evictionStrategy: "LiveMigrate" });
    await stage.reconcile();
    stage.sandbox.migrations.configure(slow);
    await evictVm("repeat");
    await untilVmi(stage.client, "repeat", "migrating", (vmi) => vmi.status?.migrationState !== undefined);
    const { answer } = await evictVm("repeat");
    expect(answer).toMatchObject({
      code: 429,
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
    });
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

  test("with DeschedulerSupport the answer says that it is in progress", async () => {
    await stage.client.patch(
      kubeVirts,
      { namespace: "kubevirt", name: "kubevirt" },
      {
        type: "merge",
        body: { spec: { configuration: { developerConfiguration: { featureGates: ["DeschedulerSupport"] } } } },
      },
    );
    await stage.ask("GET", "/readyz");
    const { answer } = await evictVm("repeat");
    expect(answer).toMatchObject({
      code: 429,
      message: `${DENIED}Evacuation in progress: Eviction triggered evacuation of VMI "vms/repeat"`,
    });
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
