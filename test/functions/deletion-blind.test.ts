/**
 * Deletions that do not ask, while the cluster cannot be seen: held until the deadline that the request shows, answered while
 * the API server still waits, and looked after as soon as something is seen. And what is seen while one is held.
 */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { failing, UNREACHABLE } from "../fake-cluster/connect.ts";
import { FakeCluster } from "../fake-cluster/fake-cluster.ts";
import { hash8 } from "../../shared/policy/kube/object-name.ts";
import { newborn, NOW as FAKE_NOW, node, pod, POD_UID, time, vmi } from "../policy/fixtures.ts";
import { asWebhook, entry, NOW, openDoors, type TestEnv } from "./support/doors.ts";
import { type FakeDoors, objectOf, openFakeDoors } from "./support/fake-doors.ts";
import { deletionOf } from "./support/reviews.ts";

const TIMEOUT_SECONDS = 30;
const WEB = { namespace: "apps", name: "web" };
const preempted = (since: string) =>
  pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since } });

/** On the clock of doors over HTTP. */
const since = (seconds: number) => preempted(new Date(NOW.getTime() - seconds * 1000).toISOString());

let fake: FakeCluster;
let doors: FakeDoors | undefined;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ featureGates: { PreemptionEvictionLiveMigration: true }, guard: { mode: "Hold" } });
  fake.nodes.put(node());
  fake.vmis.put(vmi());
  fake.pods.put(preempted(time(0)));
});

afterEach(async () => {
  await doors?.settle();
  // Of two requests that fail at the same time the answer waits for one.
  await setImmediate();
});

const at = () => doors?.now() ?? FAKE_NOW;
const elapsed = () => (at().getTime() - FAKE_NOW.getTime()) / 1000;

async function ask(before?: Parameters<typeof openFakeDoors>[1], { of = preempted(time(0)), waited = 0 } = {}) {
  const opened = openFakeDoors(fake, before);
  doors = opened;
  const answer = await opened.delete(deletionOf(objectOf(of)), waited);
  return { ...answer, seconds: elapsed() + waited };
}

const ALLOWED = { code: 200, body: { response: { allowed: true } } };
const refused = (why: string) => ({
  code: 200,
  body: { response: { allowed: false, status: { code: 429, message: expect.stringContaining(why) } } },
});

/** Every request takes so long, on the clock of the doors, and then fails; until the network is well again. */
function badNetwork(seconds: number, until = Infinity) {
  return async (_: string, endsAt: number) => {
    const end = Math.min(at().getTime() + seconds * 1000, endsAt);
    // Those that go out at the same time fail at the same time.
    await setImmediate();
    doors?.pass(Math.max(0, (end - at().getTime()) / 1000));
    if (elapsed() < until) throw new ClusterError(UNREACHABLE);
  };
}

describe("answered before the API server gives up, however long everything takes", () => {
  const rows = [0, 0.5, 2, 4, 9, 9.5, 10, 10.5, 11.4, 12, 20, 1000].map((seconds) => [seconds, 0] as const);
  const late = [1, 10, 20, 26].map((waited) => [10, waited] as const);
  test.each([...rows, ...late])("%d s for a request, the cluster found after %d s", async (seconds, waited) => {
    const answer = await ask(badNetwork(seconds), { waited });
    expect(answer).toMatchObject(refused("the API server cannot be reached"));
    expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS - 2);
    expect(answer.seconds).toBeGreaterThanOrEqual(TIMEOUT_SECONDS - 6);
  });
});

test("seen again, the evacuation is begun and carried on, and the story told, while the deletion is held", async () => {
  const answer = await ask(badNetwork(1, 8));
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS - 2);
  await doors?.settle();
  expect(fake.evacuations.list()).toMatchObject([{ spec: { cause: "Preemption" }, status: { phase: "Pending" } }]);
  expect(fake.vmis.get(WEB)?.evacuationNodeName).toBe("node01");
  expect(fake.story.map(({ reason }) => reason)).toContain("DisruptionHeld");
  // Blind, seen, and when the hold was over.
  expect(doors?.log.filter(({ door }) => door !== undefined)).toMatchObject([1, 2, 3].map(() => ({ verdict: "Hold" })));
});

test("seen again, and one too many is held: for no longer than that, however long it would be held blindly", async () => {
  fake.configure({ featureGates: { PreemptionEvictionLiveMigration: true }, guard: { mode: "Hold", maxHolds: 0 } });
  const answer = await ask(badNetwork(1, 8));
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(answer.seconds).toBeLessThan(20);
});

test("a scheduler asks no budget: the mark does not wait for one that cannot be grown", async () => {
  await ask(failing(/Budget$/));
  expect(fake.vmis.get(WEB)?.evacuationNodeName).toBe("node01");
});

test("a VMI that keeps changing: held and looked at again, not denied at once", async () => {
  let lost = 0;
  const answer = await ask((request) => {
    if (request !== "CreateEvacuation") return;
    lost += 1;
    // Another function has begun one under the name, and ended it.
    const name = `web-${hash8(POD_UID)}-${lost}`;
    fake.evacuations.put(newborn({ name, uid: name, status: { phase: "Gone" } }));
  });
  expect(answer).toMatchObject(refused("its VMI keeps changing"));
  expect(answer.seconds).toBe(25);
  expect(lost).toBeGreaterThan(30);
});

test("the Evacuation carries the deadline that the first deletion showed", async () => {
  await ask(undefined, { of: preempted(time(-20)) });
  await doors?.settle();
  const spec = { cause: "Preemption", deadline: time(100) };
  // It has been carried on, too.
  expect(fake.evacuations.list()).toMatchObject([{ spec, status: { phase: "Pending" } }]);
});

test("an Evacuation that cannot be begun: held all the same, and begun as soon as that works", async () => {
  let refusals = 3;
  const answer = await ask((request) => {
    if (request === "CreateEvacuation" && refusals-- > 0) throw new ClusterError(UNREACHABLE);
  });
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(fake.evacuations.list()).toHaveLength(1);
});

test("the VM has moved: let go with the next look, and its evacuation ends", async () => {
  const answer = await ask(() => {
    if (elapsed() >= 4) fake.change(WEB, { nodeName: "node02", activePods: { target: "node02" } });
  });
  expect(answer).toMatchObject(ALLOWED);
  expect(answer.seconds).toBe(4);
  await doors?.settle();
  expect(fake.evacuations.list()).toMatchObject([{ status: { phase: "Moved" } }]);
});

test("the target of a migration is held to the end and nothing is marked, though its condition is reset meanwhile", async () => {
  fake.pods.put(pod());
  fake.change(WEB, { nodeName: "node00", activePods: { source: "node00", [POD_UID]: "node01" } });
  const answer = await ask();
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(answer.seconds).toBe(25);
  expect(fake.evacuations.list()).toEqual([]);
  expect(fake.vmis.get(WEB)).not.toHaveProperty("evacuationNodeName");
});

describe("no cluster to ask", () => {
  const outage = { get: () => Promise.reject(new Error("KV")), list: () => Promise.reject(new Error("KV")) };
  const dry = { dryRun: true };
  const byUser = { userInfo: { username: "admin" } };
  const WHY = refused("try again: an unexpected error");

  async function askNowhere(
    of = since(0),
    more = {},
    env: TestEnv = { CLUSTER_REGISTRY: outage },
    headers = asWebhook,
  ) {
    const there = openDoors(env);
    const body = JSON.stringify(deletionOf(objectOf(of), more));
    const path = `/clusters/prod/admission/deletions?timeout=${TIMEOUT_SECONDS}s`;
    const answer = await there.request(path, { method: "POST", headers, body });
    return { ...answer, seconds: (there.now().getTime() - NOW.getTime()) / 1000 };
  }

  // prettier-ignore
  test.each([
    ["a preemption",                       since(0),   {},     WHY,     25],
    ["one that is nearly at its deadline", since(110), {},     WHY,     10],
    ["one that is past its deadline",      since(121), {},     ALLOWED, 0],
    ["a dry run",                          since(0),   dry,    WHY,     0],
    ["no preemption",                      pod(),      {},     ALLOWED, 0],
    ["by another user",                    since(0),   byUser, ALLOWED, 0],
  ])("%s", async (...[, of, more, expected, seconds]) => {
    expect(await askNowhere(of, more)).toMatchObject({ ...expected, seconds });
  });

  test("an entry that is wrong says so, and holds as well", async () => {
    const answer = await askNowhere(since(0), {}, { CLUSTERS: { prod: entry("nonsense") } });
    expect(answer).toMatchObject({ ...refused("server"), seconds: 25 });
  });

  test("a caller without the token is not held", async () => {
    const env = { CLUSTERS: { prod: entry("https://api.example.com") } };
    const answer = await askNowhere(since(0), {}, env, { authorization: "Bearer wrong" });
    expect(answer).toMatchObject({ code: 401, seconds: 0 });
  });
});
