/**
 * Makes a visit: sends a few requests to one isolate with one cluster, and waits for work that continues after an
 * answer.
 */
import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { VirtualClock } from "../../support/clock.ts";
import { NOW } from "../../support/fixtures.ts";
import { often } from "../../support/generators/often.ts";
import { canaryIn } from "./canaries.ts";
import { HostileCluster, hostility } from "./cluster/hostile-cluster.ts";
import { type Isolate, openIsolate } from "./isolate.ts";
import { type Answer, judge } from "./judge.ts";
import { property } from "./property.ts";
import { type FuzzedRequest, shown } from "./requests/request.ts";
import { anyRequest } from "./requests/requests.ts";

const REQUESTS_A_VISIT = 4;

export const unprinted = { [fc.toStringMethod]: () => "a visit" };

const request = fc.record({ make: anyRequest, pause: often(0, 1, 31, 600) });
const visit = fc
  .record({
    hostility,
    registryFails: often(false, true),
    requests: fc.array(request, { minLength: REQUESTS_A_VISIT, maxLength: REQUESTS_A_VISIT }),
  })
  .map((drawn) => ({ ...drawn, ...unprinted }));

type Visit = typeof visit extends fc.Arbitrary<infer T> ? T : never;

interface Sent {
  readonly request: FuzzedRequest;
  readonly now: Date;
  readonly answer: Answer;
}

/** Returns the outcome of each request. Throws an error that describes the problem. */
export async function makeVisit({ hostility: drawn, registryFails, requests }: Visit): Promise<readonly string[]> {
  const clock = new VirtualClock(NOW);
  const cluster = new HostileCluster(drawn, clock);
  const isolate = openIsolate(cluster, clock, registryFails);
  const sent: Sent[] = [];
  for (const [index, { make, pause }] of requests.entries()) {
    sent.push(await send(make(clock.now()), index, { isolate, clock }));
    clock.pass(pause);
  }
  const hasEnded = await clock.settle(isolate.after);
  // Node.js reports an unhandled rejection one turn of the event loop later.
  await setImmediate();
  const judged = sent.map(({ request: asking, now, answer }, index) => {
    const asked = cluster.asked.filter((one) => one.origin === index);
    return judge(asking, answer, { keys: isolate.keys, registryFailed: registryFails, asked, now });
  });
  const problems = [
    ...judged.flatMap((one) => one.problems),
    ...cluster.problems,
    ...(hasEnded ? await rejections(isolate) : ["a promise is left pending"]),
    ...isolate.log.flatMap((line) => logProblems(JSON.stringify(line), registryFails ? /KV GET failed/ : undefined)),
  ];
  if (problems.length > 0) throw new Error([...problems, ...sent.map((one) => shown(one.request))].join("\n\n"));
  return judged.map(({ outcome }) => outcome);
}

interface Course {
  readonly isolate: Isolate;
  readonly clock: VirtualClock;
}

async function send(asking: FuzzedRequest, index: number, { isolate, clock }: Course): Promise<Sent> {
  const now = clock.now();
  try {
    return { request: asking, now, answer: await clock.outcome(isolate.send(asking, index)) };
  } catch (cause) {
    throw new Error(`the app has thrown an error, or never answers: ${String(cause)}\n${shown(asking)}`, { cause });
  }
}

async function rejections({ after }: Isolate): Promise<readonly string[]> {
  const ends = await Promise.allSettled(after);
  return ends.flatMap((end) =>
    end.status === "rejected" ? [`the work after the answer failed: ${String(end.reason)}`] : [],
  );
}

/**
 * Returns the problems of a log line: a secret, or an unexpected error. `but` matches permitted failures of the
 * platform.
 */
export function logProblems(line: string, but?: RegExp): readonly string[] {
  const canary = canaryIn(line);
  const unexpected = /"error":|Uncaught|exception/.test(line) && but?.test(line) !== true;
  return [
    ...(canary === undefined ? [] : [`a log line contains a secret: ${canary}: ${line.slice(0, 500)}`]),
    ...(unexpected ? [`an unexpected error: ${line.slice(0, 1500)}`] : []),
  ];
}

export const VISITS = property(
  "whatever is sent and whatever a cluster answers, each answer keeps the contract",
  visit,
  makeVisit,
);
