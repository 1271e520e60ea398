/**
 * The same requests to the bundled Worker in workerd: what the runtime itself makes of them. Who asked for what of the cluster is not known
 * here; visit.ts looks at that.
 */
import * as fc from "fast-check";
import { createAuthority } from "../../infra/sandbox/index.ts";
import { type RunningWorker, startWorker } from "../../infra/lab/stage/worker.ts";
import { ENTRY } from "../answer/fuzz/canaries.ts";
import { HostileCluster, hostility } from "../answer/fuzz/cluster/hostile-cluster.ts";
import { quickly, startHostileServer } from "../answer/fuzz/cluster/hostile-server.ts";
import { answerOf, judge } from "../answer/fuzz/judge.ts";
import { property } from "../answer/fuzz/property.ts";
import { type FuzzedRequest, hasBody, headersOf } from "../answer/fuzz/requests/request.ts";
import { anyRequest } from "../answer/fuzz/requests/requests.ts";
import { logProblems, unprinted } from "../answer/fuzz/visit.ts";

/** Of those clusters whose entry is a valid one: what it is bound to is looked for later. */
const KEYS = new Map([
  ["prod", ENTRY],
  ["vpc", ENTRY],
]);
/** Sent at the same time, to one cluster. */
const AT_A_TIME = 8;
const HEADERS_TOO_LARGE = 431;

const batch = fc
  .record({ hostility, requests: fc.array(anyRequest, { minLength: AT_A_TIME, maxLength: AT_A_TIME }) })
  .map((drawn) => ({ ...drawn, ...unprinted }));

/** What was answered how often, by door and code. */
export async function visitWorker(requests: number): Promise<ReadonlyMap<string, number>> {
  let cluster: HostileCluster | undefined;
  const log: string[] = [];
  const server = await startHostileServer(() => {
    if (cluster === undefined) throw new Error("no cluster yet");
    return cluster;
  });
  const clusters = {
    prod: { server: server.url, ...ENTRY },
    vpc: { server: "binding:NOTHING", ...ENTRY },
    bad: { server: "http://example.com", ...ENTRY },
  };
  const worker = await startWorker({
    authority: await createAuthority("fuzzing"),
    clusters,
    onLog: (line) => void log.push(line),
  });
  const batches = property("the Worker in workerd keeps the contract", batch, async (drawn) => {
    cluster = new HostileCluster(drawn.hostility, quickly);
    const sent = drawn.requests.map((make) => sendOne(worker, impatient(make(new Date()))));
    const answers = (await Promise.all(sent)).flat();
    const alive = await worker.fetch("/healthz");
    const problems = [
      ...answers.flatMap((one) => one.problems),
      ...((await alive.text()) === '{"healthy":true}' ? [] : ["the Worker is no longer there"]),
      ...cluster.problems,
      ...log.splice(0).flatMap((line) => logProblems(line)),
    ];
    if (problems.length > 0) throw new Error(problems.join("\n\n"));
    return answers.map(({ outcome }) => outcome);
  });
  try {
    return await batches.check(Math.ceil(requests / AT_A_TIME));
  } finally {
    await worker.stop();
    await server.stop();
  }
}

/** A deletion is held for as long as the API server waits: here no caller waits long. */
function impatient(request: FuzzedRequest): FuzzedRequest {
  if (!request.path.includes("deletions")) return request;
  return { ...request, path: `${request.path.split("?")[0]}?timeout=200ms` };
}

async function sendOne(worker: RunningWorker, request: FuzzedRequest) {
  const now = new Date();
  const { method, body, path } = request;
  const sent = hasBody(request) && body !== undefined ? { body } : {};
  let response: Awaited<ReturnType<RunningWorker["fetch"]>>;
  try {
    const headers = Object.fromEntries(headersOf(request));
    response = await worker.fetch(path, { method, headers, redirect: "manual", ...sent });
  } catch {
    // The client's own: a length that is not the body's, a header that it does not send.
    return [];
  }
  const answer = await answerOf(response);
  // The platform's own, before the Worker is asked.
  if (answer.code === HEADERS_TOO_LARGE) return [];
  return [judge(request, answer, { keys: KEYS, registryFailed: false, asked: [], now })];
}
