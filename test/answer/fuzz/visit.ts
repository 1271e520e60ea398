/** One visit: an isolate, a cluster behind it, a few requests one after another, and what goes on after them. */
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { usually } from "../../support/generators/often.ts";
import { NOW } from "../../support/fixtures.ts";
import { canaryIn } from "./canaries.ts";
import { HostileCluster, hostility } from "./cluster/hostile-cluster.ts";
import { CONTRACT, type DoorName } from "./contract.ts";
import { environment, type Isolate, openIsolate } from "./isolate.ts";
import { type Answer, judge } from "./judge.ts";
import { type InstalledPlatform, installPlatform } from "./platform.ts";
import { type Property, property } from "./property.ts";
import { asCurl, type FuzzedRequest } from "./requests/request.ts";
import { anyRequest } from "./requests/requests.ts";
import { VirtualClock } from "../../support/clock.ts";

// Loaded by Lifeboat when there is YAML to be read; here from the first visit on, so that none takes longer than others.
await import("../../../shared/settings/configuration.ts");
await import("../../../shared/descheduling/policy-file.ts");
await import("js-yaml");

const REQUESTS_A_VISIT = 4;
/** Whoever it is, to find that out must not cost much: a signature by each of two secrets, and two digests to compare it with each of eight. */
const MOST_DIGESTS = 2 + 2 * 2 * 8;

/** Printed by what is wrong, and not as what was drawn. */
export const unprinted = { [fc.toStringMethod]: () => "a visit" };

export const visit = fc
  .record({
    hostility,
    environment,
    requests: fc.array(
      fc.record({ make: anyRequest, pause: usually(fc.constant(0), fc.constantFrom(1, 31, 600), 5) }),
      {
        minLength: REQUESTS_A_VISIT,
        maxLength: REQUESTS_A_VISIT,
      },
    ),
    ticks: usually(fc.constant(false), fc.constant(true)),
  })
  .map((drawn) => ({ ...drawn, ...unprinted }));

export type Visit = typeof visit extends fc.Arbitrary<infer T> ? T : never;

interface Sent {
  readonly request: FuzzedRequest;
  readonly now: Date;
  readonly digests: number;
  readonly answer: Answer;
}

interface Course {
  readonly cluster: HostileCluster;
  readonly isolate: Isolate;
  readonly clock: VirtualClock;
  readonly platform: InstalledPlatform;
}

/** What was answered, by door and code. Throws saying what was wrong. */
export async function makeVisit(drawn: Visit): Promise<readonly string[]> {
  const clock = new VirtualClock(NOW);
  const platform = installPlatform();
  try {
    const cluster = new HostileCluster(drawn.hostility, clock);
    return await run(drawn, { cluster, isolate: openIsolate(cluster, clock, drawn.environment), clock, platform });
  } finally {
    platform.uninstall();
  }
}

async function run({ requests, ticks }: Visit, course: Course): Promise<readonly string[]> {
  const { cluster, isolate, clock } = course;
  const sent: Sent[] = [];
  for (const [index, { make, pause }] of requests.entries()) {
    sent.push(await send(make(clock.now()), index, course));
    clock.pass(pause);
  }
  if (ticks) await within(clock, isolate.tick(), "a tick");
  const hasEnded = await clock.settle(isolate.after);
  // A rejection that is not handled is noticed one turn later.
  await setImmediate();
  const judged = sent.map((one, index) => judgeOne(one, index, course));
  const problems = [
    ...judged.flatMap((one) => one.problems),
    ...(hasEnded ? [] : ["a promise is left pending"]),
    ...(isolate.keys === undefined ? [] : cluster.problems),
    ...(await afterProblems(isolate, hasEnded)),
  ];
  if (problems.length > 0) fail(problems, sent);
  return [...judged.map(({ outcome }) => outcome), ...(ticks ? ["scheduled done"] : [])];
}

function fail(problems: readonly string[], sent: readonly Pick<Sent, "request">[]): never {
  throw new Error([...problems, ...sent.map(({ request }) => asCurl(request))].join("\n\n"));
}

/** The clock goes on until it is there. */
async function within<T>(clock: VirtualClock, working: Promise<T>, what: string): Promise<T> {
  const ended = await clock.settle([working]);
  if (!ended) throw new Error(`${what} never ends`);
  return await working;
}

async function send(request: FuzzedRequest, index: number, { isolate, clock, platform }: Course): Promise<Sent> {
  const [now, before] = [clock.now(), platform.digests()];
  try {
    const answer = await within(clock, isolate.send(request, index), "an answer");
    return { request, now, answer, digests: platform.digests() - before };
  } catch (error) {
    return fail([`the app has thrown: ${wordsOf(error)}`], [{ request }]);
  }
}

function judgeOne({ request, now, answer, digests }: Sent, index: number, { isolate, cluster }: Course) {
  const asked = cluster.asked.filter((one) => one.origin === index);
  const { keys, registryFails: registryFailed } = isolate;
  const costly = keys !== undefined && digests > MOST_DIGESTS ? [`${digests} digests to find out who asks`] : [];
  return judge(request, answer, { keys, registryFailed, asked, now }, costly);
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function afterProblems({ after, log, registryFails }: Isolate, hasEnded: boolean): Promise<readonly string[]> {
  const ends = hasEnded ? await Promise.allSettled(after) : [];
  const rejected = ends.flatMap((end) =>
    end.status === "rejected" ? [`rejected after the answer: ${wordsOf(end.reason)}`] : [],
  );
  const lines = log.map((line) => JSON.stringify(line));
  // The platform's own failure is none of ours.
  return [...rejected, ...lines.flatMap((line) => logProblems(line, registryFails ? /KV GET failed/ : undefined))];
}

/** What no door expected is a defect, however well it is answered. */
export function logProblems(line: string, but?: RegExp): readonly string[] {
  const canary = canaryIn(line);
  const unexpected = /"error":|Uncaught|exception/.test(line) && but?.test(line) !== true;
  return [
    ...(canary === undefined ? [] : [`a log line tells a secret: ${canary}: ${line.slice(0, 500)}`]),
    ...(unexpected ? [`an unexpected error: ${line.slice(0, 1500)}`] : []),
  ];
}

/** What each answers to a caller who may, if all goes well. One of the entries is a wrong one: the fleet is never ready. */
const OPENED = {
  evictions: 200,
  deletions: 200,
  events: 204,
  reconcile: 200,
  deschedule: 200,
  clusterReadyz: 200,
  metrics: 200,
  healthz: 200,
  readyz: 503,
  noRoute: 404,
} as const satisfies Record<DoorName, number>;
const GUARDED = Object.entries(CONTRACT).flatMap(([door, { key }]) => (key === "None" ? [] : [`${door} 401`]));

export const DOORS: Property = property(
  "no answer is outside the contract, and every door is opened to some and closed to others",
  visit,
  makeVisit,
  [...Object.entries(OPENED).map(([door, code]) => `${door} ${code}`), ...GUARDED, "evictions 400", "evictions 404"],
);
