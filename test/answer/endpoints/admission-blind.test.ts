/**
 * Tests the answers if Lifeboat cannot read the facts. If the pod is a launcher that has not ended and a retry might
 * help, the answer is 429 with the reason. Otherwise, the answer is 503 without Retry-After. Lifeboat answers in time,
 * writes nothing, and repeats no text of the API server.
 */
import { afterEach, describe, expect, test } from "vitest";
import type { FakeCluster } from "../../support/cluster.ts";
import { type Answers, clusterWith, POD_OBJECT } from "../../support/cluster/one-vm.ts";
import { kindOf } from "../../support/cluster/request-info.ts";
import { NOW } from "../../support/fixtures.ts";
import { VirtualClock } from "../../support/clock.ts";
import { type App, entry, openApp, TOKENS } from "../../support/app.ts";
import { evictionReview, allowance, refusal } from "../../support/reviews.ts";
import * as stub from "../../support/answers.ts";

const BLIND = 'cannot decide on the eviction of pod "apps/virt-launcher-web-abcde", try again: ';
const TRIGGERED = 'Eviction triggered evacuation of VMI "apps/web"';

const LARGE = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`label-${i}`, "x".repeat(90)]));

let cluster: FakeCluster | undefined;
let app: App | undefined;
afterEach(async () => {
  await app?.settle();
  // The log never contains a token or text of the API server.
  const log = JSON.stringify(app?.log);
  for (const secret of [...Object.values(TOKENS), stub.SECRET_OF_UPSTREAM]) expect(log).not.toContain(secret);
});

async function ask(answers: Answers | stub.Behaviour) {
  const clock = new VirtualClock(NOW);
  cluster = clusterWith(answers);
  app = openApp({ CLUSTERS: { prod: entry(cluster.url) } }, undefined, clock.platform);
  const answer = await clock.outcome(app.evict(evictionReview()));
  await clock.outcome(app.settle());
  return answer;
}

const asked = () => (cluster?.requests ?? []).map(kindOf);
const WRITES = ["patch virtualmachineinstances", "create events"];

const blindly = (why: string) => ({ code: 200, body: refusal(expect.stringContaining(`${BLIND}${why}`)) });
/**
 * The API server applies the webhook's failurePolicy to this answer. The answer has no Retry-After header,
 * because the API server would first wait for the time in this header.
 */
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

test.each(MISBEHAVIOURS)(
  "if the API server gives no good answer at all, an eviction gets 503, without a write: %s",
  async (_, behaviour) => {
    const answer = await ask(behaviour);
    expect(answer).toMatchObject(FAILS);
    expect(app?.log).toContainEqual(expect.objectContaining({ level: "error", doing: "reviewing an eviction" }));
    expect(answer.text).not.toContain(stub.SECRET_OF_UPSTREAM);
    expect(asked().filter((kind) => WRITES.includes(kind))).toEqual([]);
  },
);

// prettier-ignore
test.each<[string, object, string]>([
  ["too many labels",     { metadata: { ...POD_OBJECT.metadata, labels: { ...POD_OBJECT.metadata.labels, ...LARGE } } }, "metadata: expected at most 16 KiB of labels and annotations, not 20 KiB"],
  ["too many tolerations", { spec: { ...POD_OBJECT.spec, tolerations: Array.from({ length: 500 }, (_, i) => ({ key: `key-${i}`, value: "x".repeat(40) })) } }, "(root): expected at most 16 KiB of data in the fields that Lifeboat reads"],
])("an eviction of a pod with %s is answered 429 with the reason, without a write", async (_, tweak, why) => {
  expect(await ask({ "get pods": stub.json({ ...POD_OBJECT, ...tweak }) })).toMatchObject({
    code: 200,
    body: refusal(expect.stringContaining(`${BLIND}Lifeboat cannot parse the answer to GET `)),
  });
  expect(JSON.stringify(app?.log)).toContain(why);
  expect(asked().filter((kind) => WRITES.includes(kind))).toEqual([]);
});

const NONE = /^$/;
/**
 * `says` matches the bad answers that Lifeboat accepts as facts, such as 404 for a pod. For a PodDisruptionBudget,
 * Lifeboat accepts any JSON, because it does not parse the object. `lasts` matches the bad answers that a retry would
 * not change, such as 403.
 */
// prettier-ignore
describe.each<[string, says: RegExp, lasts: RegExp]>([
  ["get pods",                    /404/,               /./],
  ["get virtualmachineinstances", /404/,               /^403$/],
  ["list evacuations",            NONE,                /^403$|404/],
  ["list kubevirts",              NONE,                /^403$|404/],
  ["get lifeboatconfigurations",  NONE,                /^403$/],
  ["get poddisruptionbudgets",    /404|^403$|^JSON/,   NONE],
])("if the API server gives no good answer to: %s", (kind, says, lasts) => {
  test.each(MISBEHAVIOURS.filter(([name]) => !says.test(name)))("%s", async (name, behaviour, why) => {
    expect(await ask({ [kind]: behaviour })).toMatchObject(lasts.test(name) ? FAILS : blindly(why));
    expect(asked()).not.toContain("patch virtualmachineinstances");
  });
});

// prettier-ignore
test.each([
  ["completed",    { status: { phase: "Succeeded" } }],
  ["no launcher",  { metadata: { ...POD_OBJECT.metadata, labels: {} } }],
])("a pod that is %s is evicted although all other reads fail", async (_, tweak) => {
  const rest = stub.status(401, "Unauthorized");
  const kinds = ["get virtualmachineinstances", "list evacuations", "list kubevirts", "get lifeboatconfigurations"];
  const broken = Object.fromEntries(kinds.map((kind) => [kind, rest]));
  const answer = await ask({ ...broken, "get pods": stub.json({ ...POD_OBJECT, ...tweak }) });
  expect(answer).toMatchObject({ code: 200, body: allowance() });
});

test.each([301, 307])("a redirect (%i) is not followed, and the token is not sent to its target", async (code) => {
  const elsewhere = clusterWith();
  await ask(stub.redirecting(elsewhere.url, code));
  expect(elsewhere.requests).toEqual([]);
});

test.each(MISBEHAVIOURS.slice(2))(
  "the answer is the same if the later writes of the Event and the status get no good answer: %s",
  async (_, behaviour) => {
    const answers = { "create events": behaviour, "patch evacuations/status": behaviour };
    expect(await ask(answers)).toMatchObject({ body: refusal(TRIGGERED) });
  },
);
