/** Tests one deployment of the Worker with several clusters. A fault of one cluster never affects another cluster. */
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { createNode, createVirtualMachineInstance, type Sandbox, waitFor } from "../../../infra/sandbox/index.ts";
import { evacuations } from "../../../infra/lab/stage/evacuations.ts";
import { applyLifeboat, configureLifeboat } from "../../../infra/lab/stage/apply.ts";
import { startSandboxAsChosen } from "../../../infra/lab/stage/control-plane.ts";
import { type RunningWorker, startWorker } from "../../../infra/lab/stage/worker.ts";
import { NAMESPACE } from "../stage.ts";
import { evict, hasSettledAwayFrom, launcherOf, untilVmi } from "../vm.ts";

const NAMES = ["east", "west"] as const;
type Name = (typeof NAMES)[number];

let clusters: Record<Name, Sandbox>;
let worker: RunningWorker;
const tokens: Partial<Record<Name, string>> = {};
const logged: string[] = [];
const onLog = (line: string) => logged.push(line);

beforeAll(async () => {
  const [east, west] = await Promise.all(
    NAMES.map(() => startSandboxAsChosen({ migrationSeconds: 0.1, terminationSeconds: 0.05 })),
  );
  if (east === undefined || west === undefined) throw new Error("no sandboxes");
  clusters = { east, west };
  const nowhere = { url: "https://127.0.0.1:1", webhookToken: "none" };
  const entries = await Promise.all(
    NAMES.map(async (name) => {
      const { client, caPem, url: server } = clusters[name];
      const { token } = await applyLifeboat(client, { ...nowhere, caPem });
      tokens[name] = token;
      return [name, { server, token, webhookToken: `the-token-of-${name}` }] as const;
    }),
  );
  worker = await startWorker({
    authority: east.authority,
    trusted: [west.caPem],
    clusters: Object.fromEntries(entries),
    onLog,
  });
  for (const name of NAMES) {
    const site = { url: `${worker.url}/clusters/${name}`, webhookToken: `the-token-of-${name}` };
    await applyLifeboat(clusters[name].client, { ...site, caPem: east.caPem });
    await configureLifeboat(clusters[name].client, { evacuation: { adoptSeconds: 0 } });
    for (const node of ["node01", "node02"]) await createNode(clusters[name].client, node);
    await createVirtualMachineInstance(clusters[name].client, {
      namespace: NAMESPACE,
      name: "vm",
      evictionStrategy: "LiveMigrate",
      node: "node01",
    });
  }
});
afterAll(async () => {
  await worker.stop();
  await Promise.all(NAMES.map((name) => clusters[name].stop()));
});

async function reconcile(name: Name) {
  const headers = { authorization: `Bearer the-token-of-${name}` };
  return (await worker.fetch(`/clusters/${name}/reconcile`, { method: "POST", headers })).status;
}

test("while one API server is away, evictions, ticks and reconciles of the other cluster continue", async () => {
  await clusters.east.apiServer.suspend();
  expect([await reconcile("east"), await reconcile("west")]).toEqual([503, 200]);
  const { client } = clusters.west;
  expect(await evict(client, await launcherOf(client, "vm"))).toMatchObject({ code: 429 });
  await worker.scheduled(tickTime("west", "full"));
  const vmi = await untilVmi(client, "vm", "moved", hasSettledAwayFrom("node01"));
  expect(vmi.status).toMatchObject({ phase: "Running", nodeName: "node02" });
});

test("with a queue, a cluster that hangs does not delay the others by more than a few seconds", async () => {
  const { west } = clusters;
  const hung = createServer(() => undefined).listen(0, "127.0.0.1");
  await once(hung, "listening");
  const { port } = z.object({ port: z.number() }).parse(hung.address());
  const webhookToken = "the-token-of-any-cluster";
  const hanging = { server: `http://127.0.0.1:${port}`, token: "a-token", webhookToken };
  const entry = { server: west.url, token: tokens.west ?? "", webhookToken };
  const queued = await startWorker({
    authority: west.authority,
    clusters: { hanging, west: entry },
    queue: true,
    onLog,
  });
  const key = { namespace: NAMESPACE, name: "asked" };
  await createVirtualMachineInstance(west.client, { ...key, evictionStrategy: "External", node: "node01" });
  await untilVmi(west.client, "asked", "running", ({ status }) => status?.phase === "Running");
  const spec = { virtualMachineInstance: { name: "asked" } };
  await west.client.create(evacuations, { metadata: key, spec });
  await queued.scheduled(tickTime("west", "small"));
  await waitFor(west.client, {
    resource: evacuations,
    key,
    what: "taken up",
    until: ({ status }) => status?.phase !== undefined,
  });
  await queued.stop();
  hung.closeAllConnections();
  hung.close();
  expect(logged.filter((line) => line.includes("token-of-"))).toEqual([]);
});
