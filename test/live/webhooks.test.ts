/** Lifeboat notices that the API server no longer asks it: its webhook deleted, and installed again. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { lifeboatConfigurations } from "../../infra/lab/stage/apply.ts";
import { type Stage, startStage, WEBHOOK_CONFIGURATIONS, WEBHOOK_TOKEN } from "./stage.ts";
import { evict, launcherOf } from "./vm.ts";

const OBJECT = { name: "lifeboat" };

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({ ticking: false });
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
