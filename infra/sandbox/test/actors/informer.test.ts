/** Tests that informers' caches stay correct after a watch has failed. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createClient, type KubeClient } from "../../actors/client.ts";
import { createSteppedClock } from "../../actors/clock.ts";
import { startInformer, type Informer } from "../../actors/informer.ts";
import { configMaps, namespaces, type KubeObject } from "../../actors/resources.ts";
import { kubeconfigOf } from "../../kubeconfig.ts";
import { startSandbox, type Sandbox } from "../../sandbox.ts";
import { eventually } from "../with-sandbox.ts";

const NAMESPACE = "apps";

interface Proxy {
  readonly port: number;
  /** Breaks every connection. If `refuse` is true, refuses new connections, too. */
  cut(options?: { readonly refuse: boolean }): void;
  close(): void;
}

async function startProxy(target: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let refusing = false;
  const server: Server = createServer((incoming) => {
    const outgoing = connect(target, "127.0.0.1");
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    if (refusing) incoming.destroy();
    incoming.pipe(outgoing).pipe(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as AddressInfo).port,
    cut({ refuse } = { refuse: false }) {
      refusing = refuse;
      cut();
    },
    close() {
      cut();
      server.close();
    },
  };
}

let sandbox: Sandbox;
let proxy: Proxy;
let client: KubeClient;
let informer: Informer<KubeObject>;
let changes: string[];
const clock = createSteppedClock();

beforeAll(async () => {
  sandbox = await startSandbox({ empty: true });
  await sandbox.client.create(namespaces, { metadata: { name: NAMESPACE } });
});
afterAll(() => sandbox.stop());

beforeEach(async () => {
  proxy = await startProxy(Number(new URL(sandbox.url).port));
  const url = `https://127.0.0.1:${proxy.port}`;
  client = createClient(kubeconfigOf({ url, caPem: sandbox.caPem, user: "admin", token: sandbox.adminToken }));
  await create("first", "watched");
  informer = startInformer<KubeObject>({
    client,
    clock,
    resource: configMaps,
    selectors: { labelSelector: "app=watched" },
    indexes: { label: ({ metadata }) => Object.keys(metadata.labels ?? {}) },
  });
  changes = [];
  informer.onChange((object, previous) => changes.push(`${previous?.metadata.name}->${object?.metadata.name}`));
  await informer.synced;
});
afterEach(async () => {
  await informer.stop();
  client.close();
  proxy.close();
  for (const name of names()) await sandbox.client.delete(configMaps, { namespace: NAMESPACE, name });
});

function create(name: string, app: string) {
  return sandbox.client.create(configMaps, { metadata: { namespace: NAMESPACE, name, labels: { app } } });
}

function names(): readonly string[] {
  return [...informer.list()].map(({ metadata }) => metadata.name).toSorted((a, b) => a.localeCompare(b));
}

/** Advances the clock until the informer reconnects, and returns the names in the informer's cache. */
function namesLater(): readonly string[] {
  clock.advance(1_000);
  return names();
}

function sees(expected: readonly string[]) {
  return eventually(namesLater).toEqual(expected);
}

test("an informer starts with existing objects, and follows additions, changes and deletions", async () => {
  expect(names()).toEqual(["first"]);
  await create("second", "watched");
  await create("ignored", "other");
  await sees(["first", "second"]);
  await sandbox.client.delete(configMaps, { namespace: NAMESPACE, name: "first" });
  await sees(["second"]);
  await sandbox.client.delete(configMaps, { namespace: NAMESPACE, name: "ignored" });
  expect(changes).toEqual(["undefined->first", "undefined->second", "first->undefined"]);
});

test("an object that no longer matches the selector is removed, together with its index entries", async () => {
  const body = { metadata: { labels: { app: "other", more: "x" } } };
  expect(informer.byIndex("label", "app")).toHaveLength(1);
  await sandbox.client.patch(configMaps, { namespace: NAMESPACE, name: "first" }, { type: "merge", body });
  await sees([]);
  expect(informer.byIndex("label", "app")).toEqual([]);
  await sandbox.client.delete(configMaps, { namespace: NAMESPACE, name: "first" });
});

test("an interrupted watch continues from its last resourceVersion", async () => {
  proxy.cut();
  await create("meanwhile", "watched");
  await sees(["first", "meanwhile"]);
});

test("after an outage of the API server, no change is missed", async () => {
  proxy.cut({ refuse: true });
  await create("missed", "watched");
  await sandbox.client.delete(configMaps, { namespace: NAMESPACE, name: "first" });
  clock.advance(60_000);
  expect(names()).toEqual(["first"]);
  proxy.cut({ refuse: false });
  await sees(["missed"]);
});

test("stopping an informer ends its watch", async () => {
  await informer.stop();
  await create("late", "watched");
  expect(names()).toEqual(["first"]);
  await sandbox.client.delete(configMaps, { namespace: NAMESPACE, name: "late" });
});

test("the informer of a kind that is not served is synced and empty", async () => {
  const gone = startInformer<KubeObject>({ client, clock, resource: { ...configMaps, plural: "gone" } });
  await gone.synced;
  expect([...gone.list()]).toEqual([]);
  await gone.stop();
});
