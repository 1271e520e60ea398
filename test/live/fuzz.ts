/**
 * Sends the same fuzzed requests over a network to the bundled Worker in workerd and to the in-cluster server. Tests
 * how each runtime handles the requests. visit.ts checks the requests that Lifeboat sends to the cluster.
 */
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { createApp } from "../../functions/app.ts";
import { newIsolateState } from "../../functions/target.ts";
import { makeCertificate } from "../../infra/cli/install/make-certificate.ts";
import { listen } from "../../infra/server/listener.ts";
import { systemClock } from "../../infra/relay/clock.ts";
import { createAuthority } from "../../infra/sandbox/index.ts";
import { startWorker } from "../../infra/lab/stage/worker.ts";
import { ENTRY } from "../answer/fuzz/canaries.ts";
import { HostileCluster, hostility } from "../answer/fuzz/cluster/hostile-cluster.ts";
import { quickly, startHostileServer } from "../answer/fuzz/cluster/hostile-server.ts";
import { answerOf, judge } from "../answer/fuzz/judge.ts";
import { property } from "../answer/fuzz/property.ts";
import { type FuzzedRequest, hasBody, headersOf } from "../answer/fuzz/requests/request.ts";
import { anyRequest } from "../answer/fuzz/requests/requests.ts";
import { logProblems, unprinted } from "../answer/fuzz/visit.ts";

const KEYS = new Map([
  ["prod", ENTRY],
  ["vpc", ENTRY],
]);
const AT_A_TIME = 8;

const batch = fc
  .record({ hostility, requests: fc.array(anyRequest, { minLength: AT_A_TIME, maxLength: AT_A_TIME }) })
  .map((drawn) => ({ ...drawn, ...unprinted }));

const CLUSTERS = (server: string) => ({
  prod: { server, ...ENTRY },
  vpc: { server: "binding:NOTHING", ...ENTRY },
  bad: { server: "http://example.com", ...ENTRY },
});

interface Opened {
  readonly fetch: (path: string, init?: Sent) => Promise<Answered>;
  readonly takesEvents: boolean;
  stop(): Promise<void>;
}
interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly redirect?: "manual";
  readonly body?: string | Uint8Array<ArrayBuffer>;
}
type Answered = Parameters<typeof answerOf>[0];
type Open = (server: string, log: string[]) => Promise<Opened>;

export const openWorker: Open = async (server, log) => {
  const authority = await createAuthority("fuzzing");
  const worker = await startWorker({ authority, clusters: CLUSTERS(server), onLog: (line) => void log.push(line) });
  return { fetch: (path, init) => worker.fetch(path, init), takesEvents: true, stop: () => worker.stop() };
};

export const openListener: Open = async (server, log) => {
  const [notBefore, notAfter] = [new Date(Date.now() - 60_000), new Date(Date.now() + 3_600_000)];
  const app = createApp(
    {
      fetch: (url, init) => fetch(url, init),
      now: () => new Date(),
      sleep: (ms) => delay(ms),
      timeout: (ms) => AbortSignal.timeout(ms),
      random: Math.random,
      log: (line) => void log.push(JSON.stringify(line)),
    },
    newIsolateState(),
    { takesEvents: false },
  );
  const env = { CLUSTERS: JSON.stringify(CLUSTERS(server)) };
  const pair = await makeCertificate("fuzz.test", { notBefore, notAfter });
  const listener = await listen((request, context) => app.fetch(request, env, context), 0, pair);
  return {
    fetch: (path, init = {}) => overTls(listener.port, path, init),
    takesEvents: false,
    stop: () => listener.close(systemClock),
  };
};

async function overTls(port: number, path: string, asked: Sent): Promise<Answered> {
  const { method = "GET", headers = {}, body = "" } = asked;
  const to = { host: "127.0.0.1", port, path, method, headers, rejectUnauthorized: false, agent: false };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(to, resolve).on("error", reject).end(body);
  });
  const text = Buffer.concat(await response.toArray()).toString();
  const all = Object.entries(response.headers).map(([name, value]) => [name, String(value)] as [string, string]);
  return { status: response.statusCode ?? 0, headers: all, text: () => Promise.resolve(text) };
}

/** Sends fuzzed requests. Returns the number of answers by endpoint and code. */
export async function visit(open: Open, requests: number): Promise<ReadonlyMap<string, number>> {
  let cluster: HostileCluster | undefined;
  const log: string[] = [];
  const server = await startHostileServer(() => {
    if (cluster === undefined) throw new Error("no cluster yet");
    return cluster;
  });
  const opened = await open(server.url, log);
  const batches = property("Lifeboat keeps the contract over a network", batch, async (drawn) => {
    cluster = new HostileCluster(drawn.hostility, quickly);
    const sent = drawn.requests.map((make) => sendOne(opened, impatient(make(new Date()))));
    const answers = (await Promise.all(sent)).flat();
    const alive = await opened.fetch("/healthz");
    const problems = [
      ...answers.flatMap((one) => one.problems),
      ...((await alive.text()) === '{"healthy":true}' ? [] : ["Lifeboat does not answer /healthz any more"]),
      ...cluster.problems,
      ...log.splice(0).flatMap((line) => logProblems(line)),
    ];
    if (problems.length > 0) throw new Error(problems.join("\n\n"));
    return answers.map(({ outcome }) => outcome);
  });
  try {
    return await batches.check(Math.ceil(requests / AT_A_TIME));
  } finally {
    await opened.stop();
    await server.stop();
  }
}

/** Shortens the timeout of a deletion's review, because Lifeboat can delay the answer until the timeout. */
function impatient(request: FuzzedRequest): FuzzedRequest {
  if (!request.path.includes("deletions")) return request;
  return { ...request, path: `${request.path.split("?")[0]}?timeout=200ms` };
}

async function sendOne({ fetch: send, takesEvents }: Opened, asked: FuzzedRequest) {
  const now = new Date();
  const { method, body, path } = asked;
  const sent = hasBody(asked) && body !== undefined ? { body } : {};
  let response: Answered;
  try {
    const headers = Object.fromEntries(headersOf(asked));
    response = await send(path, { method, headers, redirect: "manual", ...sent });
  } catch {
    // The HTTP client itself refuses a request with a wrong body length, or with headers that the client does not send.
    return [];
  }
  const answer = await answerOf(response);
  // The runtime (workerd or Node.js) sends these answers before Lifeboat gets the request.
  if (answer.code === 431 || ([400, 417].includes(answer.code) && answer.text === "")) return [];
  const judged = judge(asked, answer, { keys: KEYS, registryFailed: false, asked: [], now });
  if (takesEvents || !judged.outcome.startsWith("events ")) return [judged];
  return [{ ...judged, problems: answer.code === 404 ? [] : [`events: answered ${answer.code}`] }];
}
