/** Evacuations that are over are counted by passes, however many there are at once and whatever fails. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as core from "../../infra/sandbox/actors/resources.ts";
import { record } from "../policy/fixtures.ts";
import { asWebhook, type Before, type Doors, openDoors } from "./support/doors.ts";
import { ROLES } from "./support/roles.ts";
import { startTestCluster, type TestCluster } from "./support/test-cluster.ts";

const COUNTERS = "/api/v1/namespaces/lifeboat-system/configmaps/lifeboat-counters";
const VMIS = "/apis/kubevirt.io/v1/virtualmachineinstances";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const open = (before?: Before) => openDoors({ CLUSTERS: { prod: cluster.entry } }, before);

/** One pass over everything, and those that it says are due. */
async function reconcile(doors: Doors): Promise<unknown> {
  const { body } = await doors.request("/clusters/prod/reconcile", { method: "POST", headers: asWebhook });
  await doors.settle();
  return body;
}

/** A VM on node01 that has been evacuated from another node: nobody has looked since. */
async function createMoved(name: string, id: string): Promise<void> {
  const text = JSON.stringify(record({ id, node: "node09" }));
  const annotations = { "lifeboat.dev/evacuation": text };
  const labels = { "lifeboat.dev/evacuation": "normal" };
  await cluster.createVm({ name, strategy: "LiveMigrate", metadata: { labels, annotations } });
}

async function labelOf(name: string): Promise<string | undefined> {
  return (await cluster.getVmi(name))?.metadata.labels?.["lifeboat.dev/evacuation"];
}

async function counted(): Promise<unknown> {
  const key = { namespace: "lifeboat-system", name: "lifeboat-counters" };
  const text = (await cluster.client.get(core.configMaps, key))?.data?.["counters.json"];
  return text === undefined ? undefined : JSON.parse(text);
}

const moved = (count: number) => ({ evacuations: [{ cause: "ApiEviction", outcome: "Moved", count }] });

test("counted, then tidied up; the counters are read before the VMIs", async () => {
  const asked: string[] = [];
  const doors = open((request) => void asked.push(request));
  await createMoved("web", "0000000a");
  await reconcile(doors);
  expect(await counted()).toEqual({ ...moved(1), counted: [expect.stringMatching(/^[0-9a-f-]{36}\/0000000a$/)] });
  expect(await labelOf("web")).toBeUndefined();
  expect(await cluster.storyOf("web")).toContain("Evacuated");
  const reads = asked.filter((request) => request === `GET ${COUNTERS}` || request === `GET ${VMIS}`);
  expect(reads.slice(0, 2)).toEqual([`GET ${COUNTERS}`, `GET ${VMIS}`]);
  await reconcile(doors);
  expect(await counted()).toMatchObject(moved(1));
});

test("ten functions at once", async () => {
  const names = Array.from({ length: 12 }, (_, i) => `vm-${i}`);
  for (const [i, name] of names.entries()) await createMoved(name, `000000${10 + i}`);
  await Promise.all(Array.from({ length: 10 }, () => reconcile(open())));
  expect(await counted()).toMatchObject(moved(12));
  expect(await Promise.all(names.map(labelOf))).toEqual(names.map(() => undefined));
});

describe("a function that dies", () => {
  test.each([
    ["before it has counted", "POST /api/v1/namespaces/lifeboat-system/configmaps"],
    ["before it has tidied up", "PATCH /apis/kubevirt.io/v1/namespaces/apps/virtualmachineinstances/web"],
  ])("%s: the next one counts it once", async (_, last) => {
    await createMoved("web", "0000000a");
    await new Promise<void>((dies) => {
      let dead = false;
      const dying = open(async (request) => {
        dead ||= request === last;
        if (dead) dies();
        if (dead) await new Promise<never>(() => {});
      });
      void reconcile(dying);
    });
    expect(await labelOf("web")).toBe("normal");
    await reconcile(open());
    expect(await counted()).toMatchObject(moved(1));
    expect(await labelOf("web")).toBeUndefined();
  });
});

/** The shipped permissions, but for writing: only these rules on configmaps are left. */
async function allowOnly(...rules: readonly { readonly resourceNames: readonly string[] }[]): Promise<void> {
  const reading = rules.map((rule) => ({ apiGroups: [""], resources: ["configmaps"], verbs: ["get"], ...rule }));
  const key = { namespace: "lifeboat-system", name: "lifeboat" };
  await cluster.client.patch(ROLES, key, { type: "merge", body: { rules: reading } });
}

describe("counting is in nobody's way", () => {
  test("counters that may not be written: reported, and the evacuation comes to its end uncounted", async () => {
    await allowOnly({ resourceNames: ["lifeboat", "lifeboat-slots", "lifeboat-counters"] });
    await createMoved("web", "0000000a");
    const doors = open();
    expect(await reconcile(doors)).toMatchObject({ done: { Forget: 1 }, failures: 1 });
    expect(await labelOf("web")).toBeUndefined();
    expect(await counted()).toBeUndefined();
    expect(doors.log).toContainEqual(expect.objectContaining({ doing: "reconciling: evacuation" }));
  });

  test("counters that cannot be written just now: what has ended waits for the next pass, and is counted", async () => {
    let writes = 0;
    const doors = open((request) => {
      const isWrite = request.startsWith("POST") && request.endsWith("/configmaps");
      if (isWrite && writes++ === 0) throw new TypeError("the connection broke");
    });
    await createMoved("web", "0000000a");
    expect(await reconcile(doors)).toMatchObject({ done: { CreateBudget: 1 }, failures: 1 });
    expect(await counted()).toMatchObject(moved(1));
    expect(await labelOf("web")).toBeUndefined();
  });

  test("counters that cannot be read just now: what has ended waits for the next pass, all else goes on", async () => {
    let reads = 0;
    const doors = open((request) => {
      if (request === `GET ${COUNTERS}` && reads++ === 0) throw new TypeError("the connection broke");
    });
    await createMoved("web", "0000000a");
    expect(await reconcile(doors)).toMatchObject({ done: { CreateBudget: 1 }, failures: 0 });
    expect(doors.log).toContainEqual(expect.objectContaining({ doing: "reconciling: counters" }));
    expect(await counted()).toMatchObject(moved(1));
    expect(await labelOf("web")).toBeUndefined();
  });

  test("permissions of an earlier version: nothing is counted, and nothing fails", async () => {
    await allowOnly({ resourceNames: ["lifeboat", "lifeboat-slots"] });
    await createMoved("web", "0000000a");
    expect(await reconcile(open())).toMatchObject({ done: { Forget: 1 }, failures: 0 });
    expect(await labelOf("web")).toBeUndefined();
  });
});
