/**
 * KEP-1397's three scenarios in its first form: pods that another product relocates are asked for by the eviction API, with annotations
 * and the text of a 429. The same in its second form, for VMs: test/blackbox/descheduling.test.ts.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as core from "../../../infra/sandbox/actors/resources.ts";
import { type PolicyFile } from "../../live/descheduling-stage.ts";
import { IN_PROGRESS, REQUEST_ONLY, REQUESTED } from "../../support/descheduling/worlds.ts";
import { type AnotherProduct, startAnotherProduct } from "./support/another-product.ts";
import { createPod, setPolicy, startToDeschedule, TAINTS } from "./support/descheduling.ts";
import { asWebhook, type Doors, openDoors } from "../../support/doors.ts";
import { NAMESPACE, type TestCluster } from "../../support/test-cluster.ts";

let cluster: TestCluster;
let doors: Doors;
let product: AnotherProduct;
beforeEach(async () => {
  cluster = await startToDeschedule();
  doors = openDoors({ CLUSTERS: { prod: cluster.entry } });
  product = await startAnotherProduct(cluster.client);
  for (const name of ["app-1", "app-2"]) await createPod(cluster, name, { [REQUEST_ONLY]: "" });
});
afterEach(async () => {
  product.stop();
  await cluster.stop();
});

async function cycle(): Promise<unknown> {
  const { body } = await doors.request("/clusters/prod/deschedule", { method: "POST", headers: asWebhook });
  await doors.settle();
  const { results, evacuationsInProgress } = Object(body);
  return [results, evacuationsInProgress];
}

/** The other product says that it relocates the pod. */
async function confirm(name: string): Promise<void> {
  const body = { metadata: { annotations: { [IN_PROGRESS]: "true" } } };
  await cluster.client.patch(core.pods, { namespace: NAMESPACE, name }, { type: "merge", body });
}

const start = (limits: PolicyFile) => setPolicy(cluster, { ...TAINTS, ...limits });

test("EvacuationInBackground: each is asked once, and counts until it has gone", async () => {
  await start({});
  expect(await cycle()).toEqual([{ Background: 2 }, 2]);
  const { metadata } = (await cluster.client.get(core.pods, { namespace: NAMESPACE, name: "app-1" })) ?? {};
  expect(metadata?.annotations).toHaveProperty([REQUESTED]);
  expect(await cycle()).toEqual([{ InProgress: 2 }, 2]);
  await confirm("app-1");
  expect(await cycle()).toEqual([{ InProgress: 2 }, 2]);
  await cluster.client.delete(core.pods, { namespace: NAMESPACE, name: "app-1" }, { gracePeriodSeconds: 0 });
  expect(await cycle()).toEqual([{ InProgress: 1 }, 1]);
  expect(product.asked).toEqual(["app-1", "app-2"]);
});

describe("EvacuationLimitReached", () => {
  test.each(["maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsEvacuationsPerNode"])("%s of 1", async (limit) => {
    await start({ [limit]: 1 });
    const reached = { maxNoOfPodsToEvictPerNamespace: "evictionsPerNamespace" }[limit] ?? "evacuationsPerNode";
    expect(await cycle()).toEqual([{ Background: 1, [reached]: 1 }, 1]);
    await confirm("app-1");
    expect(await cycle()).toEqual([{ InProgress: 1, [reached]: 1 }, 1]);
    await cluster.client.delete(core.pods, { namespace: NAMESPACE, name: "app-1" }, { gracePeriodSeconds: 0 });
    expect(await cycle()).toEqual([{ Background: 1 }, 1]);
    expect(product.asked).toEqual(["app-1", "app-2"]);
  });
});

describe("EvacuationTTL", () => {
  test("what nothing confirms is asked for again after its TTL; what is confirmed does not expire", async () => {
    await start({ maxEvacuationRequestTTL: "5m" });
    expect(await cycle()).toEqual([{ Background: 2 }, 2]);
    await confirm("app-1");
    doors.pass(300);
    expect(await cycle()).toEqual([{ InProgress: 2 }, 2]);
    doors.pass(1);
    expect(await cycle()).toEqual([{ Background: 1, InProgress: 1 }, 2]);
    expect(product.asked).toEqual(["app-1", "app-2", "app-2"]);
  });
});
