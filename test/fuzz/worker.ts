/**
 * The same requests to the bundled Worker in workerd: what the runtime itself makes of them.
 * Owns: sending them, by the real clock and several at a time. Does not own: the contract. Who asked for what of the
 * cluster is not known here; visit.ts looks at that.
 */
import { createAuthority } from "../../infra/sandbox/certificates.ts";
import { type RunningWorker, startWorker } from "../../infra/tools/worker.ts";
import { canaryIn } from "./canaries.ts";
import { startHostileServer } from "./cluster/hostile-server.ts";
import { ENTRY } from "./isolate.ts";
import { judge } from "./judge.ts";
import { randomOf } from "./random.ts";
import { asCurl, type FuzzedRequest, hasBody, headersOf } from "./requests/request.ts";
import { anyRequest } from "./requests/requests.ts";
import type { Tally } from "./tally.ts";

interface WorkerRun {
  readonly requests: number;
  readonly seed: number;
  readonly tally: Tally;
}

/** Of those clusters whose entry is a valid one: what it is bound to is looked for later. */
const KEYS = new Map([
  ["prod", ENTRY],
  ["vpc", ENTRY],
]);
/** Sent at the same time, to one cluster. */
const AT_A_TIME = 8;
const HEADERS_TOO_LARGE = 431;

export async function visitWorker({ requests, seed, tally }: WorkerRun): Promise<void> {
  const server = await startHostileServer(randomOf(seed, 0));
  const clusters = {
    prod: { server: server.url, ...ENTRY },
    vpc: { server: "binding:NOTHING", ...ENTRY },
    bad: { server: "http://example.com", ...ENTRY },
  };
  const onLog = (line: string) => tally.reportAll(logProblems(line), `the log: ${line.slice(0, 1500)}`);
  const worker = await startWorker({ authority: await createAuthority("fuzzing"), clusters, onLog });
  try {
    for (let sent = 0; sent < requests; sent += AT_A_TIME) {
      const random = randomOf(seed, sent);
      server.next(random);
      const batch = Array.from({ length: AT_A_TIME }, () => impatient(anyRequest(random, new Date())));
      await Promise.all(batch.map((request) => sendOne(worker, request, tally)));
      const alive = await worker.fetch("/healthz");
      if ((await alive.text()) !== '{"healthy":true}')
        tally.reportAll(["the Worker is no longer there"], "GET /healthz");
    }
    tally.reportAll(server.problems(), "what the cluster was asked");
  } finally {
    await worker.stop();
    await server.stop();
  }
}

/** A deletion is held for as long as the API server waits: here nobody waits long. */
function impatient(request: FuzzedRequest): FuzzedRequest {
  if (!request.path.includes("deletions")) return request;
  return { ...request, path: `${request.path.split("?")[0]}?timeout=200ms` };
}

async function sendOne(worker: RunningWorker, request: FuzzedRequest, tally: Tally): Promise<void> {
  const now = new Date();
  const { method, body, path } = request;
  const sent = hasBody(request) && body !== undefined ? { body } : {};
  let response: Awaited<ReturnType<RunningWorker["fetch"]>>;
  try {
    const headers = Object.fromEntries(headersOf(request));
    response = await worker.fetch(path, { method, headers, redirect: "manual", ...sent });
  } catch {
    // The client's own: a length that is not the body's, a header that it does not send.
    return;
  }
  // The platform's own, before the Worker is asked.
  if (response.status === HEADERS_TOO_LARGE) return void (await response.text());
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  const answer = { code: response.status, headers, text: await response.text() };
  const circumstances = { keys: KEYS, registryFailed: false, asked: [], now };
  const { door, problems } = judge(request, answer, circumstances);
  tally.add({ requests: 1, answers: [{ door, code: answer.code }], findings: [] });
  tally.reportAll(problems, `${asCurl(request)}\n→ ${answer.code} ${answer.text.slice(0, 2000)}`);
}

function logProblems(line: string): readonly string[] {
  const canary = canaryIn(line);
  const leaked = canary === undefined ? [] : [`a log line tells a secret: ${canary}`];
  return /"error":|Uncaught|exception/i.test(line) ? [...leaked, "an unexpected error"] : leaked;
}
