/** The floor of the admission benchmark asks an API server for what Lifeboat asks it for, and for nothing else. */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type MeasuredApiServer, startMeasuredApiServer } from "../../infra/bench/api-server.ts";
import { createReviewedPods, type ReviewedPods, unmark } from "../../infra/bench/reviewed-pods.ts";
import { checkAnswer, type Kind, reviewOf } from "../../infra/bench/reviews.ts";
import floor from "../../infra/bench/workers/floor.ts";
import { type Doors, entry, openDoors } from "../functions/support/doors.ts";

let server: MeasuredApiServer;
let pods: ReviewedPods;
let clusters: { readonly bench: ReturnType<typeof entry> };
let asked: string[] = [];
const reach = globalThis.fetch;

beforeAll(async () => {
  server = await startMeasuredApiServer();
  setDefaultCACertificates([...getCACertificates("default"), server.caPem]);
  pods = await createReviewedPods(server.client, 1);
  clusters = { bench: entry(server.url, { token: server.lifeboatToken }) };
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const { pathname, searchParams } = new URL(url);
    const query = [...searchParams].map(([name, value]) => `${name}=${value}`).toSorted();
    asked.push([`${init.method} ${pathname}`, ...query].join(" "));
    return await reach(url, init);
  });
});
afterAll(async () => {
  vi.unstubAllGlobals();
  await server.stop();
});

async function ofLifeboat(kind: Kind, doors: Doors, body: string): Promise<readonly string[]> {
  asked = [];
  const path = `/clusters/bench/admission/evictions/${clusters.bench.webhookToken}`;
  checkAnswer(kind, await doors.request(path, { method: "POST", body }));
  await doors.settle();
  return asked;
}

async function ofFloor(kind: Kind, body: string): Promise<readonly string[]> {
  asked = [];
  const after: Promise<unknown>[] = [];
  const request = new Request(`http://floor/?calls=${kind}`, { method: "POST", body });
  const platform = { waitUntil: (promise: Promise<unknown>) => void after.push(promise) };
  const { status } = await floor.fetch(request, { CLUSTERS: JSON.stringify(clusters) }, platform);
  await Promise.all(after);
  expect(status).toBe(200);
  return asked;
}

// prettier-ignore
test.each<[Kind, number]>([
  // its pod
  ["ordinary", 1],
  // pod, VMI, budget, mark; then the Event, and a pass: two registers, marked VMIs, this VMI, migrations, and the budgets of
  // two namespaces, because another VMI is marked in another one
  ["first",    4 + 1 + 7],
  // pod, VMI, budgets; then a pass, in which nothing is marked elsewhere
  ["repeat",   3 + 6],
])("a review of kind %s: the same %d requests in the same order", async (kind, count) => {
  const doors = openDoors({ CLUSTERS: clusters });
  const [pod = { namespace: "", name: "" }] = pods[kind];
  const body = reviewOf(pod);
  // The settings are in the cache, and what is to be repeated has been asked before.
  await ofLifeboat("ordinary", doors, reviewOf(pods.ordinary[0] ?? pod));
  await unmark(server.client, pods.repeat);
  await ofLifeboat("first", doors, reviewOf(pods.repeat[0] ?? pod));

  await unmark(server.client, pods.first);
  const lifeboat = await ofLifeboat(kind, doors, body);
  await unmark(server.client, pods.first);
  const bare = await ofFloor(kind, body);
  expect(bare).toEqual(lifeboat);
  expect(bare).toHaveLength(count);
});
