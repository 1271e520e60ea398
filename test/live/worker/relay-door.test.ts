/**
 * The door for relays and node agents: signed deliveries are acted on before they are answered, everything else changes nothing.
 * In the cluster only the process itself has the secret that opens it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { Webhook } from "standardwebhooks";
import { nodes, podDisruptionBudgets } from "../../../infra/sandbox/index.ts";
import { NAMESPACE, type Stage, startStage } from "../stage.ts";
import { getVmi } from "../vm.ts";

const OLD_SECRET = "whsec_dGhlIG9sZCBzZWNyZXQgb2YgdGhlIHJlbGF5";
const NEW_SECRET = "whsec_dGhlIG5ldyBzZWNyZXQgb2YgdGhlIHJlbGF5";
const CONTENT_TYPE = "application/cloudevents-batch+json";

let stage: Stage;

beforeAll(async () => {
  stage = await startStage({
    entry: { relaySecret: [NEW_SECRET, OLD_SECRET] },
    configuration: {
      featureGates: { NodePressureEvictionLiveMigration: true },
    },
  });
});
afterAll(() => stage.stop());

function event(type: string, data: Record<string, unknown>) {
  return { specversion: "1.0", id: "1", source: "/relay", type: `dev.lifeboat.${type}.v1`, data };
}

interface Delivery {
  readonly secret?: string;
  readonly secondsAgo?: number;
  readonly contentType?: string;
  /** What is sent, if it is not what was signed. */
  readonly sent?: string;
}

async function deliver(body: unknown, delivery: Delivery = {}): Promise<number> {
  const { secret = NEW_SECRET, secondsAgo = 0, contentType = CONTENT_TYPE } = delivery;
  const payload = typeof body === "string" ? body : JSON.stringify(body);
  const time = new Date(Date.now() - secondsAgo * 1000);
  const answer = await stage.worker().fetch("/clusters/sandbox/events", {
    method: "POST",
    headers: {
      "content-type": contentType,
      "webhook-id": "delivery-1",
      "webhook-timestamp": String(Math.floor(time.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign("delivery-1", time, payload),
    },
    body: delivery.sent ?? payload,
  });
  await answer.text();
  return answer.status;
}

async function budgetsOf(vmi: string): Promise<number> {
  const { metadata } = await getVmi(stage.client, vmi);
  const { items } = await stage.client.list(podDisruptionBudgets, NAMESPACE);
  return items.filter((b) => b.metadata.ownerReferences?.some((o) => o.uid === metadata.uid)).length;
}

async function changed(name: string) {
  const { metadata } = await stage.createVm({ name, evictionStrategy: "LiveMigrate" });
  return [event("vmi.changed", { namespace: NAMESPACE, name, uid: metadata.uid })];
}

test.each([
  ["the new secret", NEW_SECRET],
  ["the old one, while rotating", OLD_SECRET],
])("signed with %s: a VM that has just been made has its budget before the answer", async (_, secret) => {
  const name = `new-${secret === NEW_SECRET ? "new" : "old"}`;
  const batch = await changed(name);
  expect(await deliver(batch, { secret })).toBe(204);
  expect(await budgetsOf(name)).toBe(1);
  // At least once means twice at times.
  expect(await deliver(batch, { secret })).toBe(204);
  expect(await budgetsOf(name)).toBe(1);
});

test("the API server does not answer: 503, send all again", async () => {
  const { items } = await stage.client.list(nodes);
  const batch = items.map((node) => event("node.changed", { name: node.metadata.name }));
  await stage.sandbox.apiServer.suspend();
  expect(await deliver(batch)).toBe(503);
});
