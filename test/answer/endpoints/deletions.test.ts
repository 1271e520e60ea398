/**
 * Tests deletions that bypass evictions. Lifeboat refuses the deletion at once, names the time of the next retry, and
 * sets the VMI's evacuationNodeName, even if other requests fail. If Lifeboat cannot read the facts, the review fails,
 * and policies in the API server decide.
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
  // Lifeboat answers when one of its requests has failed. Another one can still fail, so the test waits for it.
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

test("after a rollback, a new process applies the parts that it knows of a newer version's configuration", async () => {
  fake.configure({
    featureGates: { PreemptionEvictionLiveMigration: true, GateOfANewerVersion: true },
    disruptionBudgets: "Sometimes",
    guard: { deadlineSeconds: { Preemption: { from: "now" } } },
    sectionOfANewerVersion: {},
  });
  expect(await ask()).toMatchObject(refused("waits until VMI", 10));
});

test("a first refusal starts an evacuation and creates an Event, and the answer waits for neither", async () => {
  expect(await ask()).toMatchObject({ ...refused("waits until VMI", 10), seconds: 0 });
  await app?.settle();
  expect(fake.evacuations.list()).toMatchObject([{ spec: { cause: "Preemption" }, status: { phase: "Pending" } }]);
  expect(markOf()).toBe("node01");
  expect(fake.recordedEvents.map(({ reason }) => reason)).toContain("DeletionRefused");
  const rulings = app?.log.filter(({ endpoint }) => endpoint !== undefined);
  expect(rulings).toMatchObject([{ verdict: "Refuse", retryAfterSeconds: 10 }]);
});

test.each([0, 0.5, 4, 9.5, 1000])(
  "if each request fails after %d s, the review fails in time, and the policies decide",
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

test("if the VMI keeps changing, the review fails", async () => {
  let lost = 0;
  const answer = await ask((request) => {
    if (request !== "create evacuations") return;
    lost += 1;
    // Another instance has already created and ended an Evacuation with this name.
    const name = `web-${hash8(POD_UID)}-${lost}`;
    fake.evacuations.put(newborn({ name, uid: name, status: { phase: "Gone" } }));
  });
  expect(answer).toMatchObject({ code: 503, body: { error: { message: "the pod's VMI keeps changing" } } });
});

type Sick = (request: string) => boolean;
const listing: Sick = (request) => request.startsWith("list evacuations");
const creating: Sick = (request) => request === "create evacuations";
const budgets: Sick = (request) => request.endsWith("poddisruptionbudgets");
const hanging =
  (isSick: Sick): Before =>
  (request) =>
    isSick(request) ? new Promise(() => undefined) : undefined;

describe("the VM of a refused deletion is marked", () => {
  const absent: Failure = { reason: "Refused", code: 404, request: "the request" };
  // prettier-ignore
  test.each<[string, Sick, Failure]>([
    ["if its Evacuations may not be listed",     listing,                                         FORBIDDEN],
    ["if its Evacuations are too large",          listing,                                         { reason: "TooLarge", request: "GET" }],
    ["if a quota or policy refuses its Evacuation", creating,                                     FORBIDDEN],
    ["if the kind Evacuation is not served",          (asked) => listing(asked) || creating(asked),    absent],
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
  ])("if the API server never answers the request %s", async (_, isSick) => {
    const answer = await ask(hanging(isSick));
    expect(answer).not.toMatchObject({ body: { response: { allowed: true } } });
    expect(answer.seconds).toBeLessThan(TIMEOUT_SECONDS);
    expect(markOf()).toBe("node01");
  });
});

describe("an allowed deletion that a policy in the API server might still refuse", () => {
  const late = preempted(time(-121));
  const gone = refused("this request is refused only because Lifeboat deletes the pod itself", 1);

  test("is performed by Lifeboat itself, and the requester retries after a second", async () => {
    fake.pods.put(late);
    expect(await ask(undefined, deletionOf(podObject(late)))).toMatchObject(gone);
    expect(fake.pods.list()).toEqual([]);
  });

  test("is only reported in a dry run", async () => {
    fake.pods.put(late);
    expect(await ask(undefined, deletionOf(podObject(late), { dryRun: true }))).toMatchObject(gone);
    expect(fake.pods.list()).toHaveLength(1);
  });

  const hour = { userInfo: { username: KARPENTER }, options: { gracePeriodSeconds: 3600 } };
  const plain = pod({ labels: {} });
  // prettier-ignore
  test.each<[string, claimed: PodFacts, more: Readonly<Record<string, unknown>>, there: PodFacts, gate?: string]>([
    ["the pod's condition",                    late,                                    {},   pod()],
    ["the pod's condition, without a feature gate",    late,                                    {},   pod(),           "None"],
    ["another pod's UID",              { ...late, uid: "other" },               {},   pod()],
    ["that the pod is not a VM's",                 { ...late, labels: {} },                 {},   pod()],
    ["that the pod is a VM's",                  late,                                    {},   { ...late, labels: {} }],
    ["another VM",                     { ...late, annotations: { "kubevirt.io/domain": "other" } }, {}, preempted(time(0))],
    ["the end of a node",              pod({ owners: [] }),                     hour, pod(),           "NodeTerminationEvictionLiveMigration"],
    ["the end of a node, without a feature gate", pod(),                                hour, pod(),           "None"],
    ["the end of an ordinary pod's node",        plain,                                   hour, plain,           "None"],
  ])("is not performed by Lifeboat if only the review claims %s", async (...[, claimed, more, there, gate]) => {
    if (gate !== undefined) fake.configure({ featureGates: { [gate]: true } });
    fake.pods.put(there);
    fake.nodes.put(node({ unschedulable: true }));
    await ask(undefined, deletionOf(podObject(claimed), more));
    expect(fake.pods.list()).toHaveLength(1);
  });

  test("is allowed if the pod is already terminating", async () => {
    const ending = { ...late, deleting: true };
    fake.pods.put(ending);
    expect(await ask(undefined, deletionOf(podObject(ending)))).toMatchObject(ALLOWED);
  });
});

const nominate = (component: string, nominatedNodeName: string, namespace = "kubevirt") => {
  const labels = { "kubevirt.io": component };
  const object = podObject(pod({ namespace, name: "nominated", uid: "nominated", phase: "Pending", labels }));
  const status = { phase: "Pending", nominatedNodeName };
  fake.api.put("pods", { ...object, status });
};

describe("a preemption on a node without virt-handler", () => {
  const gone = refused("(HandlerNeedsRoom): this request is refused only because", 1);
  const waits = refused("waits until VMI", 10);
  // prettier-ignore
  test.each<[string, isSchedulable: boolean, nominated: Parameters<typeof nominate>, isGone: boolean]>([
    ["is allowed at once if virt-handler needs the room",     false, ["virt-handler", "node01"], true],
    ["is refused if virt-handler will start on another node", false, ["virt-handler", "node02"], false],
    ["is refused if it makes room for another pod",           false, ["web", "node01"],          false],
    ["is refused if it makes room for a tenant's pod with the label of virt-handler", false, ["virt-handler", "node01", "apps"], false],
    ["is refused if a virt-handler runs there",               true,  ["virt-handler", "node01"], false],
  ])("%s", async (_, isSchedulable, nominated, isGone) => {
    fake.nodes.put(node({ virtHandler: { isSchedulable, saidAt: time(-1) } }));
    nominate(...nominated);
    expect(await ask()).toMatchObject(isGone ? gone : waits);
    const left = isGone ? ["nominated"] : ["nominated", pod().name];
    expect(fake.pods.list().map(({ name }) => name).toSorted()).toEqual(left.toSorted());
  });
});

describe("without a cluster", () => {
  const outage = { get: () => Promise.reject(new Error("KV")), list: () => Promise.reject(new Error("KV")) };

  // prettier-ignore
  test.each<[string, TestEnv, body: Readonly<Record<string, unknown>>, expected: object]>([
    ["when the registry fails", { CLUSTER_REGISTRY: outage },                              {},                             { code: 500 }],
    ["with a malformed entry",  { CLUSTERS: { prod: entry("nonsense") } },                 {},                             { code: 503 }],
    ["for a malformed review",  { CLUSTERS: { prod: entry("https://api.example.com") } },  { oldObject: { kind: "Pod" } }, refused("not a review of pods DELETE: request.oldObject.metadata")],
  ])("%s, no deletion is allowed", async (...[, env, more, expected]) => {
    const body = JSON.stringify(deletionOf(podObject(preempted(NOW.toISOString())), more));
    const path = `/clusters/prod/admission/deletions?timeout=${TIMEOUT_SECONDS}s`;
    expect(await openApp(env).request(path, { method: "POST", headers: asWebhook, body })).toMatchObject(expected);
  });
});
