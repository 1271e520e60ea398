/**
 * One visit: an isolate, a cluster behind it, a few requests one after another, and what goes on after them.
 * Owns: that course, and everything that was wrong in it. Does not own: what may be answered (judge.ts).
 */
import { setImmediate } from "node:timers/promises";
import { canaryIn } from "./canaries.ts";
import { HostileCluster } from "./cluster/hostile-cluster.ts";
import type { DoorName } from "./contract.ts";
import { type Isolate, openIsolate } from "./isolate.ts";
import { type Answer, judge } from "./judge.ts";
import { type InstalledPlatform, installPlatform } from "./platform.ts";
import { randomOf } from "./random.ts";
import { type FuzzedRequest, asCurl } from "./requests/request.ts";
import { anyRequest } from "./requests/requests.ts";
import { VirtualClock } from "./virtual-clock.ts";

// Loaded by Lifeboat when there is YAML to be read; here from the first visit on, so that none takes longer than others.
await import("../../shared/config/lifeboat-configuration.ts");
await import("../../shared/descheduling/policy-file/parse-descheduler-policy.ts");
await import("../../shared/descheduling/policy-file/yaml.ts");

const NOW = new Date("2026-11-20T12:00:00.000Z");
export const REQUESTS_A_VISIT = 4;
/** Whoever it is, to find that out must not cost much: a signature by each of two secrets, and two digests to compare it with each of eight. */
const MOST_DIGESTS = 2 + 2 * 2 * 8;

export interface Finding {
  readonly request: number;
  readonly problem: string;
  /** How to ask the same again. */
  readonly asked: string;
}

export interface Visit {
  readonly requests: number;
  readonly answers: readonly { readonly door: DoorName | "scheduled"; readonly code: number }[];
  readonly findings: readonly Finding[];
}

export async function makeVisit(seed: number, visit: number): Promise<Visit> {
  const random = randomOf(seed, visit);
  const clock = new VirtualClock(NOW);
  const platform = installPlatform(clock);
  try {
    return await run({ random, clock, platform, first: visit * REQUESTS_A_VISIT });
  } finally {
    platform.uninstall();
  }
}

interface Sent {
  readonly index: number;
  readonly request: FuzzedRequest;
  readonly now: Date;
  readonly answer: Answer;
}

interface Course {
  readonly random: ReturnType<typeof randomOf>;
  readonly clock: VirtualClock;
  readonly platform: InstalledPlatform;
  readonly first: number;
}

async function run(course: Course): Promise<Visit> {
  const { random, clock, platform, first } = course;
  const cluster = new HostileCluster(random, clock);
  const isolate = openIsolate(cluster, clock, random);
  const findings: Finding[] = [];
  const sent: Sent[] = [];
  for (let index = first; index < first + REQUESTS_A_VISIT; index++) {
    const before = platform.digests();
    const one = await send(index, isolate, course);
    if ("problem" in one) findings.push(one);
    else sent.push(one);
    const digests = platform.digests() - before;
    if (isolate.keys !== undefined && digests > MOST_DIGESTS) findings.push(costly(one, index, digests));
    if (random.chance(0.2)) clock.pass(random.pick([1, 31, 600]));
  }
  const ticks = random.chance(0.1) ? [await tick(isolate, clock)] : [];
  const ended = await clock.settle(isolate.after);
  // A rejection that nobody handles is noticed one turn later.
  await setImmediate();
  const judged = sent.map((one) => judgeOne(one, isolate, cluster));
  const asked = sent.map(({ request }) => asCurl(request)).join("\n\n");
  const problems = [
    ...ticks.flatMap(({ problem }) => problem ?? []),
    ...(ended ? [] : ["a promise is left pending"]),
    ...(isolate.keys === undefined ? [] : cluster.problems),
    ...(await afterProblems(isolate, ended)),
  ].map((problem) => ({ request: first, problem, asked }));
  return {
    requests: REQUESTS_A_VISIT,
    answers: [...judged.map(({ answer }) => answer), ...ticks.map(({ answer }) => answer)],
    findings: [...findings, ...judged.flatMap((one) => one.findings), ...problems],
  };
}

async function send(index: number, isolate: Isolate, { random, clock }: Course): Promise<Sent | Finding> {
  const now = clock.now();
  const request = anyRequest(random, now);
  const answering = isolate.send(request, index).then(
    (answer) => ({ index, request, now, answer }),
    (error: unknown) => ({ ...blamed, problem: `the app has thrown: ${wordsOf(error)}` }),
  );
  const blamed = { request: index, asked: asCurl(request) };
  return (await clock.settle([answering])) ? await answering : { ...blamed, problem: "no answer at all" };
}

function costly(one: Sent | Finding, request: number, digests: number): Finding {
  const asked = "problem" in one ? one.asked : asCurl(one.request);
  return { request, problem: `${digests} digests to find out who asks`, asked };
}

function judgeOne({ index, request, now, answer }: Sent, isolate: Isolate, cluster: HostileCluster) {
  const asked = cluster.asked.filter((one) => one.origin === index);
  const { keys, registryFails: registryFailed } = isolate;
  const { door, problems } = judge(request, answer, { keys, registryFailed, asked, now });
  const shown = `${asCurl(request)}\n→ ${answer.code} ${answer.text.slice(0, 2000)}`;
  const findings = problems.map((problem) => ({ request: index, problem, asked: shown }));
  return { answer: { door, code: answer.code }, findings };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

async function tick(isolate: Isolate, clock: VirtualClock) {
  const ticking = isolate.tick().then(
    () => undefined,
    (error: unknown) => `a tick has thrown: ${wordsOf(error)}`,
  );
  const problem = (await clock.settle([ticking])) ? await ticking : "a tick never ends";
  return { problem, answer: { door: "scheduled", code: 0 } as const };
}

async function afterProblems({ after, log, registryFails }: Isolate, hasEnded: boolean): Promise<readonly string[]> {
  const ends = hasEnded ? await Promise.allSettled(after) : [];
  const rejected = ends.flatMap((end) =>
    end.status === "rejected" ? [`rejected after the answer: ${wordsOf(end.reason)}`] : [],
  );
  const lines = log.map((line) => JSON.stringify(line));
  const leaks = lines.flatMap((line) => {
    const canary = canaryIn(line);
    return canary === undefined ? [] : [`a log line tells a secret: ${canary}: ${line.slice(0, 500)}`];
  });
  // What nobody expected is a defect, however well it is answered; unless it is the platform's.
  const unexpected = lines.filter(
    (line) => line.includes('"error":') && !(registryFails && line.includes("KV GET failed")),
  );
  return [...rejected, ...leaks, ...unexpected.map((line) => `an unexpected error: ${line.slice(0, 1500)}`)];
}
