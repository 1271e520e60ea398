/** A Worker's way to the API server: exactly so many writes go through, then it is dead for good. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Links, startLinks } from "../../infra/chaos/links.ts";
import type { Link } from "../../infra/chaos/link.ts";
import { configMaps } from "../../infra/sandbox/actors/resources.ts";
import { startSandbox, type SimulatedSandbox } from "../../infra/sandbox/sandbox.ts";

const MAPS = "/api/v1/namespaces/default/configmaps";

let sandbox: SimulatedSandbox;
let links: Links;
let link: Link;
let url: string;
let deaths: number;

beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  links = await startLinks(sandbox);
});
afterEach(async () => {
  links.close(link);
  for (const name of await created()) await sandbox.client.delete(configMaps, { namespace: "default", name });
});
afterAll(async () => {
  await links.stop();
  await sandbox.stop();
});

function open(): void {
  deaths = 0;
  ({ link, url } = links.open("worker", { onDeath: () => (deaths += 1) }));
}

/** The code; undefined if the connection broke. */
async function send(method: string, path: string, body?: object): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${sandbox.adminToken}`, "content-type": "application/json" };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const answer = await fetch(`${url}${path}`, init).catch(() => undefined);
  await answer?.text();
  return answer?.status;
}

const create = (name: string) => send("POST", MAPS, { metadata: { name } });
/** The cluster's own is put back as soon as it is gone. */
const created = async () =>
  (await sandbox.client.list(configMaps, "default")).items
    .map(({ metadata }) => metadata.name)
    .filter((n) => n !== "kube-root-ca.crt");

test("so many writes, and the next one finds it dead; so does everything after", async () => {
  open();
  link.limit(2);
  const codes = [await create("a"), await create("b"), await create("c"), await create("d"), await send("GET", MAPS)];
  expect(codes).toEqual([201, 201, undefined, undefined, undefined]);
  expect(await created()).toEqual(["a", "b"]);
  expect([deaths, link.writes, link.isDead]).toEqual([1, 2, true]);
});

test("what only reads, asks or pretends is no write", async () => {
  open();
  link.limit(0);
  const review = { spec: { nonResourceAttributes: { path: "/version", verb: "get" } } };
  expect(await send("GET", MAPS)).toBe(200);
  expect(await send("POST", `${MAPS}?dryRun=All`, { metadata: { name: "a" } })).toBe(201);
  expect(await send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)).toBe(201);
  expect(link.isDead).toBe(false);
  expect(await create("a")).toBeUndefined();
  expect(await created()).toEqual([]);
});

test("a limit counts from when it is set, and can be lifted", async () => {
  open();
  await create("a");
  link.limit(1);
  expect(await create("b")).toBe(201);
  link.limit(Infinity);
  expect(await create("c")).toBe(201);
});

test("what is under way when it dies gets no answer", async () => {
  open();
  // The controllers of the cluster list and create.
  const match = { resources: ["configmaps"], verbs: ["get"], namespaces: ["default"] };
  sandbox.apiServer.faults.inject({ match, effect: { type: "Latency", milliseconds: 20_000 }, times: 1 });
  const underWay = send("GET", `${MAPS}/a`);
  await expect.poll(() => sandbox.apiServer.faults.injected.length).toBe(1);
  link.cut();
  expect(await underWay).toBeUndefined();
  expect(deaths).toBe(1);
});
