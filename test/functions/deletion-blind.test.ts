/**
 * Deletions that do not ask, while the cluster cannot be seen: held until the deadline that the request shows, answered while
 * the API server still waits, and looked after as soon as something is seen. And what is seen while one is held.
 */
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  CANNED_BEGIN,
  CANNED_POD,
  CANNED_VMI,
  configured,
  POD,
  questionOf,
  startCannedCluster,
} from "./support/canned-cluster.ts";
import { asWebhook, type Before, type Doors, entry, NOW, openDoors, type TestEnv } from "./support/doors.ts";
import * as stub from "./support/stub-server.ts";

const TIMEOUT_SECONDS = 30;
const PREEMPTED = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };

function preempted(secondsAgo: number) {
  const lastTransitionTime = new Date(NOW.getTime() - secondsAgo * 1000).toISOString();
  const { conditions } = CANNED_POD.status;
  return {
    ...CANNED_POD,
    status: { ...CANNED_POD.status, conditions: [...conditions, { ...PREEMPTED, lastTransitionTime }] },
  };
}

/** As `infra/kubernetes/optional/guard.yaml` has it sent. */
function deletionOf(pod: unknown, more = {}) {
  const request = {
    uid: "1",
    operation: "DELETE",
    resource: { group: "", version: "v1", resource: "pods" },
    ...POD,
    userInfo: { username: "system:kube-scheduler" },
    oldObject: pod,
    ...more,
  };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
}

const GUARD = {
  featureGates: { PreemptionEvictionLiveMigration: true },
  guard: { mode: "Hold" },
};

/** One VM on a node that is ready; its pod is preempted. */
const answers = {
  pod: stub.json(preempted(0)),
  configuration: configured(GUARD),
  other: ((response, request) => {
    const ready = { type: "Ready", status: "True" };
    const node = {
      kind: "Node",
      metadata: { name: "node01", uid: "n", resourceVersion: "1" },
      spec: {},
      status: { conditions: [ready] },
    };
    const known = request.path.endsWith("/nodes/node01") ? stub.json(node) : stub.status(404, "NotFound");
    return known(response, request);
  }) as stub.Behaviour,
};

let server: stub.StubServer | undefined;
let doors: Doors | undefined;
afterEach(async () => {
  await doors?.settle();
  // Of two requests that fail at the same time the answer waits for one.
  await setImmediate();
  await server?.stop();
  vi.restoreAllMocks();
});

async function ask(before: Before, review: unknown = deletionOf(preempted(0)), env?: TestEnv, instead = {}) {
  server = await startCannedCluster({ ...answers, ...instead });
  doors = openDoors(env ?? { CLUSTERS: { prod: entry(server.url) } }, before);
  const path = `/clusters/prod/admission/deletions?timeout=${TIMEOUT_SECONDS}s`;
  const answer = await doors.request(path, { method: "POST", headers: asWebhook, body: JSON.stringify(review) });
  return { ...answer, seconds: elapsed() };
}

const ALLOWED = { code: 200, body: { response: { allowed: true } } };
const refused = (why: string) => ({
  code: 200,
  body: { response: { allowed: false, status: { code: 429, message: expect.stringContaining(why) } } },
});

const elapsed = () => ((doors?.now().getTime() ?? 0) - NOW.getTime()) / 1000;

/** A network in which every request takes so long, on the clock of the doors, and then fails; until it is well again. */
function badNetwork({ seconds, until = Infinity }: { readonly seconds: number; readonly until?: number }): Before {
  const ends = new Map<unknown, number>();
  vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => {
    const { signal } = new AbortController();
    ends.set(signal, elapsed() + ms / 1000);
    return signal;
  });
  return async (_, { signal }) => {
    const end = Math.min(elapsed() + seconds, ends.get(signal) ?? Infinity);
    // Those that go out at the same time fail at the same time.
    await setImmediate();
    doors?.pass(Math.max(0, end - elapsed()));
    if (end < until) throw new Error("no answer");
  };
}

const slowly = async () => {
  doors?.pass(20);
  throw new Error("KV");
};
const unlisted = () => Promise.reject(new Error("KV"));

describe("answered before the API server gives up, however long everything takes", () => {
  test.each([0, 0.5, 2, 4, 9, 9.5, 10, 10.5, 11.4, 12, 20, 1000])("%d s for a request", async (seconds) => {
    const answer = await ask(badNetwork({ seconds }));
    expect(answer).toMatchObject(refused("the API server cannot be reached"));
    expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS - 2);
    expect(answer.seconds).toBeGreaterThanOrEqual(TIMEOUT_SECONDS - 6);
  });
});

test.each([1, 10, 20, 26])("answered in time though the cluster was looked up for %d s", async (seconds) => {
  const get = async () => {
    doors?.pass(seconds);
    return JSON.stringify(entry(server?.url ?? ""));
  };
  const answer = await ask(badNetwork({ seconds: 10 }), undefined, { CLUSTER_REGISTRY: { get, list: unlisted } });
  expect(answer).toMatchObject(refused("the API server cannot be reached"));
  expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS - 2);
  expect(answer.seconds).toBeGreaterThanOrEqual(TIMEOUT_SECONDS - 6);
});

test("seen again, the evacuation is begun and carried on, and the story told, while the deletion is held", async () => {
  const answer = await ask(badNetwork({ seconds: 1, until: 8 }));
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS - 2);
  await doors?.settle();
  const asked = server?.requests.map(questionOf) ?? [];
  expect(asked).toEqual(expect.arrayContaining(["begin", "mark", "event"]));
  expect(doors?.log.filter(({ door }) => door === "admission/deletions")).toMatchObject([
    // Blind, seen, and when the hold was over.
    { verdict: "Hold" },
    { verdict: "Hold" },
    { verdict: "Hold" },
  ]);
});

test("a scheduler asks no budget: the mark does not wait for one that cannot be grown", async () => {
  await ask(() => undefined, undefined, undefined, { grow: stub.status(500, "InternalError") });
  expect(server?.requests.map(questionOf)).toContain("mark");
});

test("a VMI that keeps changing: held and looked at again, not denied at once", async () => {
  const answer = await ask(() => undefined, undefined, undefined, { mark: stub.status(422, "Invalid") });
  expect(answer).toMatchObject(refused("its VMI keeps changing"));
  expect(answer.seconds).toBe(25);
  expect(server?.requests.filter((request) => questionOf(request) === "mark").length).toBeGreaterThan(30);
});

test("the Evacuation carries the deadline that the first deletion showed", async () => {
  await ask(() => undefined, deletionOf(preempted(20)));
  const begun = server?.requests.filter((request) => questionOf(request) === "begin").map(({ body }) => body);
  const deadline = new Date(NOW.getTime() + 100_000).toISOString();
  expect(begun).toMatchObject([{ spec: { virtualMachineInstance: { name: "web" }, cause: "Preemption", deadline } }]);
});

test("an Evacuation that cannot be begun: held all the same, and begun as soon as that works", async () => {
  let refusals = 3;
  const begin: stub.Behaviour = (response, request) => {
    refusals -= 1;
    return (refusals < 0 ? CANNED_BEGIN : stub.status(500, "InternalError"))(response, request);
  };
  const answer = await ask(() => undefined, undefined, undefined, { begin });
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(refusals).toBe(-1);
});

test("the target of a migration is held to the end and nothing is marked, though its condition is reset meanwhile", async () => {
  const { uid } = CANNED_POD.metadata;
  const status = { ...CANNED_VMI.status, nodeName: "node00", activePods: { source: "node00", [uid]: "node01" } };
  const instead = { pod: stub.json(CANNED_POD), vmi: stub.json({ ...CANNED_VMI, status }) };
  const answer = await ask(() => undefined, undefined, undefined, instead);
  expect(answer).toMatchObject(refused("waits until VMI"));
  expect(answer.seconds).toBe(25);
  expect(server?.requests.map(questionOf)).not.toContain("begin");
  expect(server?.requests.map(questionOf)).not.toContain("mark");
});

describe("no cluster to ask", () => {
  const broken = { get: () => Promise.reject(new Error("KV")), list: unlisted };
  const nowhere: TestEnv = { CLUSTER_REGISTRY: broken };
  // prettier-ignore
  test.each([
    ["a preemption",                     deletionOf(preempted(0)),                       refused("try again: an unexpected error"), 25],
    ["one that is nearly at its deadline", deletionOf(preempted(110)),                   refused("try again: an unexpected error"), 10],
    ["one that is past its deadline",    deletionOf(preempted(121)),                     ALLOWED,                                   0],
    ["a dry run",                        deletionOf(preempted(0), { dryRun: true }),     refused("try again: an unexpected error"), 0],
    ["no preemption",                    deletionOf(CANNED_POD),                         ALLOWED,                                   0],
    ["by another user",                  deletionOf(preempted(0), { userInfo: { username: "admin" } }), ALLOWED,                    0],
  ])("%s", async (_, review, expected, seconds) => {
    const answer = await ask(() => undefined, review, nowhere);
    expect(answer).toMatchObject(expected);
    expect(answer.seconds).toBe(seconds);
    expect(server?.requests).toEqual([]);
  });

  test("an entry that is wrong says so, and holds as well", async () => {
    const answer = await ask(() => undefined, undefined, { CLUSTERS: { prod: entry("nonsense") } });
    expect(answer).toMatchObject(refused("server"));
    expect(answer.seconds).toBe(25);
  });

  test("that the cluster was looked up for a long time is no excuse", async () => {
    const answer = await ask(() => undefined, undefined, { CLUSTER_REGISTRY: { ...broken, get: slowly } });
    expect(answer).toMatchObject(refused("try again: an unexpected error"));
    expect(answer.seconds).toBe(25);
  });

  test("a caller without the token is not held", async () => {
    doors = openDoors({ CLUSTERS: { prod: entry("https://api.example.com") } });
    const body = JSON.stringify(deletionOf(preempted(0)));
    expect(await doors.request("/clusters/prod/admission/deletions", { method: "POST", body })).toMatchObject({
      code: 401,
    });
    expect(doors.now()).toEqual(NOW);
  });
});
