/** What an answer costs the API server, and what the settings' cache saves, cluster by cluster. */
import { afterEach, describe, expect, test } from "vitest";
import {
  CANNED_POD,
  CANNED_VMI,
  type CannedAnswers,
  configured,
  list,
  notFound,
  POD,
  questionOf,
  startCannedCluster,
} from "./support/canned-cluster.ts";
import { entry, openDoors } from "./support/doors.ts";
import { allowance, evictionOf, evictionReview, refusal, review } from "./support/reviews.ts";
import { type Behaviour, json, neverAnswering, type StubServer } from "./support/stub-server.ts";

const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';
const IN_PROGRESS = 'Evacuation in progress: Eviction triggered evacuation of VMI "apps/web"';
const MARKED = { ...CANNED_VMI, status: { ...CANNED_VMI.status, evacuationNodeName: "node01" } };
const PINNED = { ...CANNED_VMI, status: { ...CANNED_VMI.status, conditions: [] } };
const GATE = { featureGates: { DeschedulerSupport: true } };

const servers: StubServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** What follows an answer of ours is left waiting at its first question. */
const FOLLOWING = { event: neverAnswering, list: neverAnswering, other: neverAnswering };

async function start(answers: CannedAnswers = {}): Promise<StubServer> {
  const server = await startCannedCluster({ ...FOLLOWING, ...answers });
  servers.push(server);
  return server;
}

const asked = ({ requests }: StubServer) => requests.map(questionOf).filter((question) => !(question in FOLLOWING));

describe("API requests before the answer", () => {
  const long = "a".repeat(70);
  const cut = { namespace: "apps", name: `virt-launcher-${long.slice(0, 40)}-abcde` };
  const longPod = { ...CANNED_POD, metadata: { ...CANNED_POD.metadata, annotations: { "kubevirt.io/domain": long } } };
  const longVmi = { ...CANNED_VMI, metadata: { ...CANNED_VMI.metadata, name: long } };
  const byName: Behaviour = (response, request) =>
    (request.path.endsWith(`/${long}`) ? json(longVmi) : notFound)(response, request);

  // prettier-ignore
  test.each<[string, CannedAnswers, typeof POD, readonly string[]]>([
    ["a first eviction",                  {},                                   POD, ["pod", "vmi", "grow", "mark"]],
    ["a VMI that is not moved",           { vmi: json({ ...CANNED_VMI, spec: {} }) }, POD, ["pod", "vmi"]],
    ["a repeated one, with the gate",     { vmi: json(MARKED), configuration: configured(GATE) }, POD, ["pod", "vmi", "budget"]],
    ["a refused one",                     { vmi: json(PINNED) },                POD, ["pod", "vmi", "budget"]],
    ["a refused one that has no budget",  { vmi: json(PINNED), budget: notFound, list: list() }, POD, ["pod", "vmi", "budget", "create"]],
    ["a pod that is gone",                { pod: notFound },                    POD, ["pod", "vmi"]],
    ["a VMI whose name was cut",          { pod: json(longPod), vmi: byName },  cut, ["pod", "vmi", "vmi", "grow", "mark"]],
    ["a pod that is no launcher",         { pod: json({ ...CANNED_POD, metadata: { ...CANNED_POD.metadata, labels: {} } }) }, { ...POD, name: "hp-volume-x" }, ["pod", "vmi"]],
  ])("%s, with a warm cache", async (_, answers, pod, questions) => {
    const server = await start(answers);
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    await review(doors, evictionReview({ request: { ...pod, dryRun: true } }));
    const before = asked(server).length;
    await review(doors, evictionOf(pod));
    expect(asked(server).slice(before).toSorted()).toEqual([...questions].toSorted());
  });

  test("a first eviction, with a cold cache: two more, at the same time as the others", async () => {
    const server = await start();
    await review(openDoors({ CLUSTERS: { prod: entry(server.url) } }));
    expect(asked(server).toSorted()).toEqual(["configuration", "grow", "kubevirt", "mark", "pod", "vmi"]);
    expect(asked(server).slice(-2)).toEqual(["grow", "mark"]);
  });

  test("a repeated one, without the gate: the budgets of one namespace", async () => {
    const server = await start({ vmi: json(MARKED), list: list() });
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    expect(await review(doors)).toMatchObject({ body: refusal(IN_PROGRESS) });
    const paths = server.requests.map(({ path }) => path);
    expect(paths).toContain("/apis/policy/v1/namespaces/apps/poddisruptionbudgets");
  });
});

describe("the settings' cache", () => {
  test("serves 30 s, then the change is seen", async () => {
    let strategy = "LiveMigrate";
    const server = await start({
      vmi: json({ ...CANNED_VMI, spec: {} }),
      kubevirt: (response, request) =>
        list({
          metadata: CANNED_VMI.metadata,
          spec: { configuration: { evictionStrategy: strategy } },
        })(response, request),
    });
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    strategy = "None";
    doors.pass(29);
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    doors.pass(1);
    expect(await review(doors)).toMatchObject({ body: allowance() });
  });

  test("is one for each cluster: what one says is never another's", async () => {
    const gated = await start({ vmi: json(MARKED), configuration: configured(GATE) });
    const budgets = list({
      metadata: { ...CANNED_VMI.metadata, name: "budget", generation: 1 },
      spec: { minAvailable: 2, selector: { matchLabels: { "kubevirt.io/created-by": "uid-of-web" } } },
      status: { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2, expectedPods: 1 },
    });
    const plain = await start({ vmi: json(MARKED), list: budgets });
    const doors = openDoors({ CLUSTERS: { gated: entry(gated.url), plain: entry(plain.url) } });
    for (let round = 0; round < 2; round++) {
      expect(await review(doors, undefined, { cluster: "gated" })).toMatchObject({ body: refusal(IN_PROGRESS) });
      expect(await review(doors, undefined, { cluster: "plain" })).toMatchObject({ body: allowance() });
    }
  });

  test("of a wrong configuration: warm or cold, the webhook goes on", async () => {
    const server = await start({ configuration: configured({ marking: "By hand" }) });
    const doors = openDoors({ CLUSTERS: { prod: entry(server.url) } });
    for (const seconds of [0, 1, 30]) {
      doors.pass(seconds);
      expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    }
  });
});
