/**
 * When the facts cannot be learnt: 429 with the reason where the pod was read and is a live launcher, and a retry may learn them, else 503
 * without Retry-After; in time, nothing written, and nothing told of the other side.
 */
import { afterEach, describe, expect, test } from "vitest";
import { CANNED_POD, type CannedAnswers, questionOf } from "../../support/canned-cluster.ts";
import { openCanned, startCannedCluster } from "../../support/canned-cluster.ts";
import { VirtualClock } from "../../support/clock.ts";
import { type Doors, entry, NOW, openDoors, TOKENS } from "../../support/doors.ts";
import { allowance, refusal, review } from "../../support/reviews.ts";
import * as stub from "../../support/answers.ts";

const BLIND = 'cannot decide on the eviction of pod "apps/virt-launcher-web-abcde", try again: ';
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

let server: stub.Stub | undefined;
let doors: Doors | undefined;
afterEach(async () => {
  await doors?.settle();
  // Whatever has happened: no token in the log, and nothing that the other side has said.
  const log = JSON.stringify(doors?.log);
  for (const secret of [...Object.values(TOKENS), stub.SECRET_OF_UPSTREAM]) expect(log).not.toContain(secret);
});

async function ask(answers: CannedAnswers | stub.Behaviour) {
  const clock = new VirtualClock(NOW);
  [server, doors] = openCanned(answers, clock.platform);
  const answer = await clock.outcome(review(doors));
  await clock.outcome(doors.settle());
  return answer;
}

function asked(): readonly string[] {
  return (server?.requests ?? []).map(questionOf);
}

const blindly = (why: string) => ({ code: 200, body: refusal(expect.stringContaining(`${BLIND}${why}`)) });
/** The webhook's failurePolicy decides. An API server does not show the body of a 5xx to a user, and obeys a Retry-After. */
const FAILS = { code: 503, retryAfter: null, body: { error: { reason: "Undecided" } } };

// prettier-ignore
const MISBEHAVIOURS: readonly (readonly [string, stub.Behaviour, string])[] = [
  ["never answers",                 stub.neverAnswering,                       "the API server did not answer in time"],
  ["begins to answer",              stub.stalling,                             "the API server did not answer in time"],
  ["breaks off",                    stub.truncating,                           "the API server cannot be reached"],
  ["403",                           stub.status(403, "Forbidden"),             "the API server answered "],
  ["500",                           stub.status(500, "InternalError"),         "the API server answered "],
  ["a redirect",                    stub.redirecting("http://127.0.0.1:1"),    "the API server answered "],
  ["HTML instead of JSON",          stub.html(200),                            "the answer to "],
  ["a proxy's 404 page",            stub.html(404),                            "the "],
  ["a proxy's 404 in JSON",         stub.json({ message: "no route" }, 404),   "the "],
  ["JSON, but nothing we asked for", stub.json({ ok: true }),                  "the answer to "],
];

describe("the API server does so whatever it is asked", () => {
  test.each(MISBEHAVIOURS)("%s", async (_, behaviour) => {
    const answer = await ask(behaviour);
    expect(answer).toMatchObject(FAILS);
    expect(doors?.log).toContainEqual(expect.objectContaining({ level: "error", doing: "reviewing an eviction" }));
    expect(answer.text).not.toContain(stub.SECRET_OF_UPSTREAM);
    expect(asked()).not.toContain("mark");
    expect(asked()).not.toContain("event");
  });

  test("is not there at all", async () => {
    doors = openDoors({ CLUSTERS: { prod: entry(stub.UNREACHABLE_URL) } });
    expect(await review(doors)).toMatchObject(FAILS);
  });
});

/** A 404 says what is so; what a budget or an Evacuation has become is not read. */
const MEANT = {
  pod: /404/,
  vmi: /404/,
  evacuations: /^$/,
  kubevirt: /^$/,
  configuration: /^$/,
  budget: /404|^403$|^JSON/,
} as const;
/** Asked again, the API server would answer the same: a 403 always, a 404 where that says that there is no such kind. */
const LASTING = {
  pod: /./,
  vmi: /^403$/,
  evacuations: /^403$|404/,
  kubevirt: /^403$|404/,
  configuration: /^403$/,
  // No fact: the decision stands, and its reader learns which permission is missing.
  budget: /^$/,
} as const;

const QUESTIONS = ["pod", "vmi", "evacuations", "kubevirt", "configuration", "budget"] as const;

describe.each(QUESTIONS)("only when asked for the %s", (question) => {
  const seen = MISBEHAVIOURS.filter(([name]) => !MEANT[question].test(name));
  test.each(seen)("%s", async (name, behaviour, why) => {
    expect(await ask({ [question]: behaviour })).toMatchObject(LASTING[question].test(name) ? FAILS : blindly(why));
    expect(asked()).not.toContain("mark");
  });
});

describe("a pod that needs no protection, and a broken rest", () => {
  const rest = stub.status(401, "Unauthorized");
  const broken = { vmi: rest, evacuations: rest, kubevirt: rest, configuration: rest };
  // prettier-ignore
  test.each([
    ["completed",        { ...CANNED_POD, status: { phase: "Succeeded" } }],
    ["failed",           { ...CANNED_POD, status: { phase: "Failed" } }],
    ["no launcher",      { ...CANNED_POD, metadata: { ...CANNED_POD.metadata, labels: {} } }],
  ])("%s: allowed", async (_, pod) => {
    const answer = await ask({ ...broken, pod: stub.json(pod) });
    expect(answer).toMatchObject({ code: 200, body: allowance() });
  });
});

test.each([301, 302, 307, 308])("a redirect (%i) is not followed, and the token not taken along", async (code) => {
  const elsewhere = startCannedCluster();
  await ask(stub.redirecting(elsewhere.url, code));
  expect(elsewhere.requests).toEqual([]);
});

describe("what is not needed for the decision does not disturb it", () => {
  test.each(MISBEHAVIOURS.slice(2))("the Event and the evacuation that follow: %s", async (_, behaviour) => {
    const answer = await ask({ event: behaviour, list: behaviour });
    expect(answer).toMatchObject({ body: refusal(TRIGGERED) });
  });
});
