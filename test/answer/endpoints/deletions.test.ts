/**
 * Lifeboat answers each deletion that bypasses evictions at once: it refuses with the time of the next try, and marks the VM, even if other requests
 * fail. A review that can learn nothing fails, and the API server's policies decide.
 */
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ClusterError, type Failure } from "../../../shared/kube/failures.ts";
import type { PodFacts } from "../../../shared/kube/facts.ts";
import { hash8 } from "../../../shared/kube/objects.ts";
import { VirtualClock } from "../../support/clock.ts";
import { type App, asWebhook, entry, openApp, type TestEnv } from "../../support/app.ts";
import { podObject } from "../../support/cluster/pods-and-nodes.ts";
import { type Before, FakeCluster, FORBIDDEN, UNREACHABLE } from "../../support/cluster.ts";
import { newborn, node, NOW, pod, POD_UID, time, vmi } from "../../support/fixtures.ts";
import { KARPENTER } from "../../support/guard/disruptions.ts";
import { deletionOf } from "../../support/reviews.ts";

const TIMEOUT_SECONDS = 10;
const WEB = { namespace: "apps", name: "web" };
const preempted = (since: string) =>
  pod({ disruptionTarget: { active: true, reason: "PreemptionByScheduler", since } });
const PREEMPTION = deletionOf(podObject(preempted(time(0))));

let fake: FakeCluster;
let app: App | undefined;
beforeEach(() => {
  fake = new FakeCluster();
  fake.configure({
    featureGates: { PreemptionEvictionLiveMigration: true, NoExecuteTaintEvictionLiveMigration: true },
  });
  fake.nodes.put(node());
  fake.vmis.put(vmi());
  fake.pods.put(preempted(time(0)));
});
afterEach(async () => {
  await app?.settle();
  // If two requests fail at the same time, the answer waits for only one of them.
  await setImmediate();
});

async function ask(before?: Before, deletion = PREEMPTION, clock = new VirtualClock(NOW)) {
  app = openApp(fake, before, { clock });
  const answer = await clock.outcome(app.delete(deletion));
  return { ...answer, seconds: (clock.now().getTime() - NOW.getTime()) / 1000 };
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
const markOf = () => fake.vmis.get(WEB)?.evacuationNodeName;

test("after a rollback a fresh process guards by what it knows of a configuration that a newer version wrote", async () => {
  fake.configure({
    featureGates: { PreemptionEvictionLiveMigration: true, GateOfANewerVersion: true },
    disruptionBudgets: "Sometimes",
    guard: { deadlineSeconds: { Preemption: { from: "now" } } },
    sectionOfANewerVersion: {},
  });
  expect(await ask()).toMatchObject(refused("waits until VMI", 10));
});

test("the first time: the evacuation is begun, carried on and told of, and the answer does not wait", async () => {
  expect(await ask()).toMatchObject({ ...refused("waits until VMI", 10), seconds: 0 });
  await app?.settle();
  expect(fake.evacuations.list()).toMatchObject([{ spec: { cause: "Preemption" }, status: { phase: "Pending" } }]);
  expect(markOf()).toBe("node01");
  expect(fake.recordedEvents.map(({ reason }) => reason)).toContain("DeletionRefused");
  const rulings = app?.log.filter(({ endpoint }) => endpoint !== undefined);
  expect(rulings).toMatchObject([{ verdict: "Refuse", retryAfterSeconds: 10 }]);
});

test.each([0, 0.5, 4, 9.5, 1000])(
  "given %d s for each request, which then fails, the review fails in time: the policies decide",
  async (seconds) => {
    const clock = new VirtualClock(NOW);
    const failLate: Before = async () => {
      await clock.sleep(seconds * 1000);
      throw new ClusterError(UNREACHABLE);
    };
    const answer = await ask(failLate, PREEMPTION, clock);
    expect(answer.code).toBeGreaterThanOrEqual(500);
    expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS);
  },
);

test("a VMI that keeps changing: the review fails", async () => {
  let lost = 0;
  const answer = await ask((request) => {
    if (request !== "create evacuations") return;
    lost += 1;
    // Another function has started an evacuation under the name, and ended it.
    const name = `web-${hash8(POD_UID)}-${lost}`;
    fake.evacuations.put(newborn({ name, uid: name, status: { phase: "Gone" } }));
  });
  expect(answer).toMatchObject({ code: 503, body: { error: { message: "its VMI keeps changing" } } });
});

/** By the name of the request. */
type Sick = (request: string) => boolean;
const listing: Sick = (request) => request.startsWith("list evacuations");
const creating: Sick = (request) => request === "create evacuations";
const budgets: Sick = (request) => request.endsWith("poddisruptionbudgets");
/** Until the connection ends. */
const hanging =
  (isSick: Sick): Before =>
  (request) =>
    isSick(request) ? new Promise(() => undefined) : undefined;

describe("a VM whose deletion is refused is marked, whatever happens beside it", () => {
  const absent: Failure = { reason: "Refused", code: 404, request: "the request" };
  // prettier-ignore
  test.each<[string, Sick, Failure]>([
    ["its Evacuations may not be listed",     listing,                                         FORBIDDEN],
    ["its Evacuations are too many",          listing,                                         { reason: "TooLarge", request: "GET" }],
    ["a quota or policy refuses its Evacuation", creating,                                     FORBIDDEN],
    ["no kind Evacuation is served",          (asked) => listing(asked) || creating(asked),    absent],
  ])("%s", async (_, isSick, failure) => {
    const answer = await ask((request) => {
      if (isSick(request)) throw new ClusterError(failure);
    });
    expect(answer).toMatchObject({ body: { response: { allowed: false } } });
    expect(markOf()).toBe("node01");
    expect(fake.evacuations.list()).toHaveLength(isSick("create evacuations") ? 0 : 1);
  });

  // prettier-ignore
  test.each<[string, Sick]>([
    ["to list its Evacuations",  listing],
    ["to create its Evacuation", creating],
    ["to read its budget",       budgets],
  ])("the API server takes for ever: %s", async (_, isSick) => {
    const answer = await ask(hanging(isSick));
    expect(answer).not.toMatchObject({ body: { response: { allowed: true } } });
    expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS);
    expect(markOf()).toBe("node01");
  });
});

describe("a deletion that a policy may hold, and that may go", () => {
  const late = preempted(time(-121));
  const gone = refused("Lifeboat itself deletes it, by its UID", 1);

  test("Lifeboat deletes the pod, and the requester is to ask again in a second", async () => {
    fake.pods.put(late);
    expect(await ask(undefined, deletionOf(podObject(late)))).toMatchObject(gone);
    expect(fake.pods.list()).toEqual([]);
  });

  test("in a dry run it only says so", async () => {
    fake.pods.put(late);
    expect(await ask(undefined, deletionOf(podObject(late), { dryRun: true }))).toMatchObject(gone);
    expect(fake.pods.list()).toHaveLength(1);
  });

  const hour = { userInfo: { username: KARPENTER }, options: { gracePeriodSeconds: 3600 } };
  const plain = pod({ labels: {} });
  // prettier-ignore
  test.each<[string, claimed: PodFacts, more: Readonly<Record<string, unknown>>, there: PodFacts, gate?: string]>([
    ["a condition",                    late,                                    {},   pod()],
    ["a condition, without a gate",    late,                                    {},   pod(),           "None"],
    ["another pod's UID",              { ...late, uid: "other" },               {},   pod()],
    ["no pod of a VM",                 { ...late, labels: {} },                 {},   pod()],
    ["a pod of a VM",                  late,                                    {},   { ...late, labels: {} }],
    ["another VM",                     { ...late, annotations: { "kubevirt.io/domain": "other" } }, {}, preempted(time(0))],
    ["the end of a node",              pod({ owners: [] }),                     hour, pod(),           "NodeTerminationEvictionLiveMigration"],
    ["the end of a node, without a gate", pod(),                                hour, pod(),           "None"],
    ["the end of a pod's node",        plain,                                   hour, plain,           "None"],
  ])("%s, which only the review claims: Lifeboat deletes nothing", async (...[, claimed, more, there, gate]) => {
    if (gate !== undefined) fake.configure({ featureGates: { [gate]: true } });
    fake.pods.put(there);
    fake.nodes.put(node({ unschedulable: true }));
    await ask(undefined, deletionOf(podObject(claimed), more));
    expect(fake.pods.list()).toHaveLength(1);
  });

  test("of a pod that ends already it is allowed", async () => {
    const ending = { ...late, deleting: true };
    fake.pods.put(ending);
    expect(await ask(undefined, deletionOf(podObject(ending)))).toMatchObject(ALLOWED);
  });
});

/** A pod for which the scheduler makes room there. */
const nominate = (component: string, nominatedNodeName: string, namespace = "kubevirt") => {
  const labels = { "kubevirt.io": component };
  const object = podObject(pod({ namespace, name: "nominated", uid: "nominated", phase: "Pending", labels }));
  const status = { phase: "Pending", nominatedNodeName };
  fake.api.put("pods", { ...object, status });
};

describe("a preemption on a node without virt-handler", () => {
  const gone = refused("may go (HandlerNeedsRoom)", 1);
  const waits = refused("waits until VMI", 10);
  // prettier-ignore
  test.each<[string, isSchedulable: boolean, nominated: Parameters<typeof nominate>, isGone: boolean]>([
    ["which needs the room: it is allowed at once", false, ["virt-handler", "node01"], true],
    ["which is to start elsewhere",                 false, ["virt-handler", "node02"], false],
    ["for another pod",                             false, ["web", "node01"],          false],
    ["for a tenant's pod with its label",           false, ["virt-handler", "node01", "apps"], false],
    ["… that is at work",                           true,  ["virt-handler", "node01"], false],
  ])("%s", async (_, isSchedulable, nominated, isGone) => {
    fake.nodes.put(node({ virtHandler: { isSchedulable, saidAt: time(-1) } }));
    nominate(...nominated);
    expect(await ask()).toMatchObject(isGone ? gone : waits);
    const left = isGone ? ["nominated"] : ["nominated", pod().name];
    expect(fake.pods.list().map(({ name }) => name).toSorted()).toEqual(left.toSorted());
  });
});

describe("no cluster to ask", () => {
  const outage = { get: () => Promise.reject(new Error("KV")), list: () => Promise.reject(new Error("KV")) };

  // prettier-ignore
  test.each<[string, TestEnv, body: Readonly<Record<string, unknown>>, expected: object]>([
    ["the registry fails",              { CLUSTER_REGISTRY: outage },                              {},                             { code: 500 }],
    ["a wrong entry",                   { CLUSTERS: { prod: entry("nonsense") } },                 {},                             { code: 503 }],
    ["what is no review of a deletion", { CLUSTERS: { prod: entry("https://api.example.com") } },  { oldObject: { kind: "Pod" } }, refused("not a review of pods DELETE: request.oldObject.metadata")],
  ])("%s: no pod is allowed to go", async (...[, env, more, expected]) => {
    const body = JSON.stringify(deletionOf(podObject(preempted(NOW.toISOString())), more));
    const path = `/clusters/prod/admission/deletions?timeout=${TIMEOUT_SECONDS}s`;
    expect(await openApp(env).request(path, { method: "POST", headers: asWebhook, body })).toMatchObject(expected);
  });
});
