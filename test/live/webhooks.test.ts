/** Lifeboat notices that the API server no longer asks it: its webhook objects deleted, edited, and put right again. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { lifeboatConfigurations } from "../../infra/lab/stage/apply.ts";
import { type Stage, startStage, WEBHOOK_CONFIGURATIONS, WEBHOOK_TOKEN } from "./stage.ts";
import { evict, launcherOf } from "./vm.ts";

const OBJECT = { name: "lifeboat" };
const GUARD = { name: "lifeboat-guard" };

let stage: Stage;
const logged: string[] = [];

beforeAll(async () => {
  stage = await startStage({ ticking: false, onLog: (line) => logged.push(line) });
  await stage.createVm({ name: "web", evictionStrategy: "LiveMigrate", node: "node01" });
});
afterAll(() => stage.stop());

/** Status, reason and message, after a full scan. */
async function condition(): Promise<string> {
  await stage.reconcile();
  const { status } = (await stage.client.get(lifeboatConfigurations, { name: "lifeboat" })) ?? {};
  const found = status?.conditions?.find(({ type }) => type === "WebhookCalled");
  return found === undefined ? "" : [found["status"], found["reason"], found["message"]].join(" ");
}

/** What the scan says comes after its answer. */
const expectCondition = (text: RegExp) => expect.poll(condition, { timeout: 10_000 }).toMatch(text);

async function problems(): Promise<readonly (string | undefined)[]> {
  const headers = { authorization: `Bearer ${WEBHOOK_TOKEN}` };
  const answer = await stage.worker().fetch("/clusters/sandbox/metrics", { headers });
  return (await answer.text()).match(/^lifeboat_webhook_problems\{.*$/gm) ?? [];
}

async function edit(path: string, value: unknown, object = OBJECT): Promise<void> {
  const body = [{ op: "replace", path: `/webhooks/0/${path}`, value }];
  await stage.client.patch(WEBHOOK_CONFIGURATIONS, object, { type: "json", body });
}

test("installed, and asked: True", async () => {
  await expectCondition(/^Unknown NotObserved/);
  await evict(stage.client, await launcherOf(stage.client, "web"));
  await expectCondition(/^True Called/);
  expect(await problems()).toEqual(['lifeboat_webhook_problems{webhook="evictions"} 0']);
});

test("deleted: False, and a metric", async () => {
  await stage.client.delete(WEBHOOK_CONFIGURATIONS, OBJECT);
  await expectCondition(/^False WebhookMissing lifeboat: there is no such object/);
  expect(await problems()).toEqual(['lifeboat_webhook_problems{webhook="evictions"} 1']);
});

test("installed again: so it is said, and True only once it is called", async () => {
  await stage.reinstall();
  await expectCondition(/^Unknown NotObserved/);
  await evict(stage.client, await launcherOf(stage.client, "web"));
  await expectCondition(/^True Called/);
});

test("leading elsewhere: the field is named, and no part of where it leads", async () => {
  for (const clientConfig of stage.misleading()) {
    await edit("clientConfig", clientConfig);
    await expectCondition(/^False WebhookMisconfigured lifeboat: clientConfig\.(url|service): expected/);
    const said = [logged, await condition()].flat().join("\n");
    expect(logged.join("\n")).toContain("WebhookNotCalled");
    for (const secret of ["a-token-that", WEBHOOK_TOKEN, "elsewhere"]) expect(said).not.toContain(secret);
  }
});

test("what an administrator changes is a remark that names the field; rules that ask nothing are a problem", async () => {
  await stage.reinstall();
  await edit("failurePolicy", "Fail");
  await evict(stage.client, await launcherOf(stage.client, "web"));
  await expectCondition(/^True Called .*; lifeboat: not as shipped: failurePolicy$/);
  await edit("rules/0/operations", ["UPDATE"]);
  await expectCondition(/^False WebhookMisconfigured lifeboat: rules: with this the API server asks nothing/);
});

test("the guard: installed as shipped, then edited, then gone, which is no mistake", async () => {
  await stage.reinstall(["optional/guard/guard.yaml"]);
  await expectCondition(/^Unknown NotObserved/);
  const [evictions, deletions] = ["evictions", "deletions"].map(
    (door) => `lifeboat_webhook_problems{webhook="${door}"}`,
  );
  expect(await problems()).toEqual([`${evictions} 0`, `${deletions} 0`]);
  await edit("clientConfig", stage.misleading()[0], GUARD);
  await expectCondition(/^False WebhookMisconfigured lifeboat-guard: clientConfig\.(url|service)/);
  expect(await problems()).toEqual([`${evictions} 0`, `${deletions} 1`]);
  await stage.client.delete(WEBHOOK_CONFIGURATIONS, GUARD);
  await expectCondition(/^Unknown NotObserved/);
  expect(await problems()).toEqual([`${evictions} 0`]);
});
