/**
 * Deletions that do not ask: each is answered at once, refused with the time of the next try, also while the cluster cannot be
 * asked, until the deadline that the request shows.
 */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { type Before, UNREACHABLE } from "../../support/fake-cluster.ts";
import { FakeCluster } from "../../support/fake-cluster.ts";
import { migration, newborn, NOW as FAKE_NOW, node, pod, POD_UID, time, vmi } from "../../support/fixtures.ts";
import { VirtualClock } from "../../support/clock.ts";
import { asWebhook, entry, NOW, openDoors, type TestEnv } from "../../support/doors.ts";
import { type FakeDoors, objectOf, openFakeDoors } from "../../support/fake-doors.ts";
import { deletionOf } from "../../support/reviews.ts";
import { hash8 } from "../../../shared/kube/objects.ts";

const TIMEOUT_SECONDS = 10;
const WEB = { namespace: "apps", name: "web" };
const preempted = (since: string) =>
  pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since } });

/** On the clock of doors over HTTP. */
const since = (seconds: number) => preempted(new Date(NOW.getTime() - seconds * 1000).toISOString());

let fake: FakeCluster;
let doors: FakeDoors | undefined;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({ featureGates: { PreemptionEvictionLiveMigration: true } });
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

async function ask(before?: Before, of = preempted(time(0))) {
  const opened = openFakeDoors(fake, before);
  doors = opened;
  return { ...(await opened.delete(deletionOf(objectOf(of)))), seconds: elapsed() };
}

const ALLOWED = { code: 200, body: { response: { allowed: true } } };
const refused = (why: string, retryAfterSeconds = 5) => ({
  code: 200,
  body: {
    response: {
      allowed: false,
      status: { code: 429, message: expect.stringContaining(why), details: { retryAfterSeconds } },
    },
  },
});

test("the first time: the evacuation is begun, carried on and told of, and the answer does not wait", async () => {
  const answer = await ask();
  expect(answer).toMatchObject({ ...refused("waits until VMI", 10), seconds: 0 });
  await doors?.settle();
  expect(fake.evacuations.list()).toMatchObject([{ spec: { cause: "Preemption" }, status: { phase: "Pending" } }]);
  expect(fake.vmis.get(WEB)?.evacuationNodeName).toBe("node01");
  expect(fake.story.map(({ reason }) => reason)).toContain("DeletionRefused");
  expect(doors?.log.filter(({ endpoint }) => endpoint !== undefined)).toMatchObject([
    { verdict: "Refuse", retryAfterSeconds: 10 },
  ]);
});

describe("answered before the API server gives up, however long everything takes", () => {
  test.each([0, 0.5, 2, 4, 9, 9.5, 10, 1000])("%d s for a request, which then fails", async (seconds) => {
    const clock = new VirtualClock(FAKE_NOW);
    const failLate: Before = async () => {
      await clock.sleep(seconds * 1000);
      throw new ClusterError(UNREACHABLE);
    };
    const there = openFakeDoors(fake, failLate, { clock });
    const answer = await clock.outcome(there.delete(deletionOf(objectOf(preempted(time(0))))));
    expect(answer).toMatchObject(refused("the API server "));
    expect((clock.now().getTime() - FAKE_NOW.getTime()) / 1000).toBeLessThan(TIMEOUT_SECONDS);
  });
});

test("a VMI that keeps changing: refused, and asked for again", async () => {
  let lost = 0;
  const answer = await ask((request) => {
    if (request !== "create evacuations") return;
    lost += 1;
    // Another function has begun one under the name, and ended it.
    const name = `web-${hash8(POD_UID)}-${lost}`;
    fake.evacuations.put(newborn({ name, uid: name, status: { phase: "Gone" } }));
  });
  expect(answer).toMatchObject(refused("its VMI keeps changing"));
});

test("what is no review of a deletion is refused with a time for the next try, for its requester would spin without one", async () => {
  const doors = openDoors({ CLUSTERS: { prod: entry("https://api.example.com") } });
  const path = `/clusters/prod/admission/deletions?timeout=${TIMEOUT_SECONDS}s`;
  const body = JSON.stringify(deletionOf({ kind: "Pod" }));
  const answer = await doors.request(path, { method: "POST", headers: asWebhook, body });
  expect(answer).toMatchObject(refused("not a review of pods DELETE: request.oldObject.metadata"));
});

test("victims that the scheduler names no more: 30 s past the deadline what is queued for them is withdrawn", async () => {
  await ask();
  await doors?.settle();
  fake.migrations.put(migration({ phase: "Pending", automatic: true, evacuates: "node01" }));
  for (const [seconds, phase] of [
    [149, "Migrating"],
    [1, "Withdrawn"],
  ] as const) {
    doors?.pass(seconds);
    await doors?.reconcile();
    expect(fake.evacuations.list()).toMatchObject([{ status: { phase } }]);
  }
  expect(fake.vmis.get(WEB)).not.toHaveProperty("evacuationNodeName");
  expect(fake.migrations.list()).toEqual([]);
});

describe("no cluster to ask", () => {
  const outage = { get: () => Promise.reject(new Error("KV")), list: () => Promise.reject(new Error("KV")) };
  const dry = { dryRun: true };
  const byUser = { userInfo: { username: "admin" } };
  const WHY = "try again: an unexpected error";

  async function askNowhere(
    of = since(0),
    more = {},
    env: TestEnv = { CLUSTER_REGISTRY: outage },
    headers = asWebhook,
  ) {
    const there = openDoors(env);
    const body = JSON.stringify(deletionOf(objectOf(of), more));
    const path = `/clusters/prod/admission/deletions?timeout=${TIMEOUT_SECONDS}s`;
    return await there.request(path, { method: "POST", headers, body });
  }

  // prettier-ignore
  test.each([
    ["a preemption",                       since(0),   {},     refused(WHY)],
    ["one that is past its deadline",      since(121), {},     ALLOWED],
    ["a dry run",                          since(0),   dry,    refused(WHY)],
    ["by another user",                    since(0),   byUser, ALLOWED],
  ])("%s", async (...[, of, more, expected]) => {
    expect(await askNowhere(of, more)).toMatchObject(expected);
  });

  test("an entry that is wrong says so, and refuses as well", async () => {
    expect(await askNowhere(since(0), {}, { CLUSTERS: { prod: entry("nonsense") } })).toMatchObject(refused("server"));
  });

  test.each([
    ["60 KB are read, though the caller cannot be known", 60, refused(WHY)],
    ["70 KB are not", 70, { code: 413 }],
  ])("%s", async (_, kilobytes, expected) => {
    expect(await askNowhere(since(0), { padding: "x".repeat(kilobytes * 1024) })).toMatchObject(expected);
  });

  test("a caller without the token gets no answer", async () => {
    const env = { CLUSTERS: { prod: entry("https://api.example.com") } };
    const answer = await askNowhere(since(0), {}, env, { authorization: "Bearer wrong" });
    expect(answer).toMatchObject({ code: 401 });
  });
});
