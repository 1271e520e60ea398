/** What an answer costs the API server, and what the settings' cache saves, cluster by cluster. */
import { describe, expect, test } from "vitest";
import {
  CANNED_EVACUATION,
  CANNED_MARKED,
  CANNED_POD,
  CANNED_VMI,
  type CannedAnswers,
  configured,
  list,
  notFound,
  POD,
  type Question,
  questionOf,
} from "../../support/canned-cluster.ts";
import { openCanned, startCannedCluster } from "../../support/canned-cluster.ts";
import { entry, openDoors } from "../../support/doors.ts";
import { allowance, evictionOf, evictionReview, refusal, review } from "../../support/reviews.ts";
import { type Behaviour, json } from "../../support/answers.ts";

const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';
const IN_PROGRESS = `Evacuation in progress: ${TRIGGERED}`;
const PINNED = { ...CANNED_VMI, status: { ...CANNED_VMI.status, conditions: [] } };
const UNDER_WAY: CannedAnswers = { vmi: json(CANNED_MARKED), evacuations: list(CANNED_EVACUATION) };
const BUDGET = { metadata: CANNED_VMI.metadata, spec: {} };
const UNBUDGETED: CannedAnswers = { configuration: configured({ disruptionBudgets: "Never" }) };

const open = openCanned;

/** Answers none of so many requests before all of them have been asked. */
function together(count: number): (behaviour: Behaviour) => Behaviour {
  const waiting: (() => void)[] = [];
  return (behaviour) => async (request, signal) => {
    await new Promise<void>((go) => {
      waiting.push(go);
      if (waiting.length % count === 0) for (const one of waiting.splice(0)) one();
    });
    return await behaviour(request, signal);
  };
}

describe("API requests before the answer, with a warm cache", () => {
  const long = "a".repeat(70);
  const cut = { namespace: "apps", name: `virt-launcher-${long.slice(0, 40)}-abcde` };
  const longPod = { ...CANNED_POD, metadata: { ...CANNED_POD.metadata, annotations: { "kubevirt.io/domain": long } } };
  const longVmi = { ...CANNED_VMI, metadata: { ...CANNED_VMI.metadata, name: long } };
  const byName: Behaviour = (request, signal) =>
    (request.path.endsWith(`/${long}`) ? json(longVmi) : notFound)(request, signal);
  const foreign = json({ ...CANNED_POD, metadata: { ...CANNED_POD.metadata, labels: {} } });
  const READS: readonly Question[] = ["pod", "vmi", "evacuations"];

  // prettier-ignore
  test.each<[string, CannedAnswers, typeof POD, readonly Question[]]>([
    ["a first eviction",                  UNBUDGETED,                                 POD, [...READS, "begin"]],
    ["a repeated one",                    { ...UNBUDGETED, ...UNDER_WAY },            POD, READS],
    ["a refused one",                     { ...UNBUDGETED, vmi: json(PINNED) },       POD, READS],
    ["a VMI that is not moved",           { vmi: json({ ...CANNED_VMI, spec: {} }) }, POD, READS],
    ["a pod that is gone",                { pod: notFound },                          POD, READS],
    ["a VMI whose name was cut",          { ...UNBUDGETED, pod: json(longPod), vmi: byName }, cut, [...READS, "vmi", "evacuations", "begin"]],
    ["a pod that is no launcher",         { pod: foreign }, { ...POD, name: "hp-volume-x" }, ["pod"]],
    ["with budgets: a first one",         {},                                         POD, [...READS, "begin", "budget"]],
    ["with budgets: a repeated one",      UNDER_WAY,                                  POD, READS],
    ["with budgets: a refused one",       { vmi: json(PINNED), budget: json(BUDGET) },                    POD, [...READS, "budget"]],
    ["with budgets: one that has none",   { vmi: json(PINNED), budget: notFound },    POD, [...READS, "budget", "create"]],
  ])("%s", async (_, answers, pod, questions) => {
    const [server, doors] = open(answers);
    await review(doors, evictionReview({ request: { ...pod, dryRun: true } }));
    await doors.settle();
    const before = server.requests.length;
    await review(doors, evictionOf(pod));
    // What follows the answer begins when these have been asked.
    const asked = server.requests.slice(before, before + questions.length).map(questionOf);
    expect(asked.toSorted()).toEqual([...questions].toSorted());
    await doors.settle();
  });

  test("two round trips: three reads at once, then two writes at once", async () => {
    const [read, write] = [together(3), together(2)];
    const [, doors] = open({
      pod: read(json(CANNED_POD)),
      vmi: read(json(CANNED_VMI)),
      evacuations: read(list()),
      begin: write(json(CANNED_EVACUATION, 201)),
      budget: write(json({})),
    });
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
  });
});

const byCluster = (evictionStrategy: string) =>
  startCannedCluster({
    vmi: json({ ...CANNED_MARKED, spec: {} }),
    evacuations: list(CANNED_EVACUATION),
    kubevirt: list({ metadata: CANNED_VMI.metadata, spec: { configuration: { evictionStrategy } } }),
  });

describe("the settings' cache", () => {
  test("serves 30 s, then the change is seen", async () => {
    let strategy = "LiveMigrate";
    const [, doors] = open({
      vmi: json({ ...CANNED_VMI, spec: {} }),
      kubevirt: (request, signal) =>
        list({
          metadata: CANNED_VMI.metadata,
          spec: { configuration: { evictionStrategy: strategy } },
        })(request, signal),
    });
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    strategy = "None";
    doors.pass(29);
    expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    doors.pass(1);
    expect(await review(doors)).toMatchObject({ body: allowance() });
  });

  test("is one for each cluster: what one says is never another's", async () => {
    const [moves, stays] = [byCluster("LiveMigrate"), byCluster("None")];
    const doors = openDoors({ CLUSTERS: { moves: entry(moves.url), stays: entry(stays.url) } });
    for (let round = 0; round < 2; round++) {
      expect(await review(doors, undefined, { cluster: "moves" })).toMatchObject({ body: refusal(IN_PROGRESS) });
      expect(await review(doors, undefined, { cluster: "stays" })).toMatchObject({ body: allowance() });
    }
  });

  test("of a wrong configuration: warm or cold, the webhook goes on", async () => {
    const [, doors] = open({ configuration: configured({ disruptionBudgets: "By hand" }) });
    for (const seconds of [0, 1, 30]) {
      doors.pass(seconds);
      expect(await review(doors)).toMatchObject({ body: refusal(TRIGGERED) });
    }
  });
});
