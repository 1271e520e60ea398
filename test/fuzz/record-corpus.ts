/**
 * `node test/fuzz/record-corpus.ts`: what an API server sends and holds, and what the relay delivers, written down anew.
 * Owns: the corpus that fuzzing starts from. Does not own: what is made of it (mutations).
 *
 * A sandbox with a few VMs, evicted, deleted and migrated: what goes over its wires is kept as it is.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import * as z from "zod/mini";
import { KubeConfig } from "@kubernetes/client-node";
import { createLog } from "../../infra/relay/log.ts";
import { startRelay } from "../../infra/relay/relay.ts";
import { systemClock } from "../../infra/sandbox/actors/clock.ts";
import type { KubeClient } from "../../infra/sandbox/actors/client.ts";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { applyLifeboat } from "../../infra/tools/apply.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { asWebhook, type Doors, entry, openDoors } from "../functions/support/doors.ts";
import { trust } from "../functions/support/test-cluster.ts";

const namespace = "vms";
const VMS = [
  { name: "web", evictionStrategy: "LiveMigrate" },
  { name: "render", evictionStrategy: "LiveMigrateIfPossible" },
  { name: "router", evictionStrategy: "External" },
  { name: "ledger", evictionStrategy: "LiveMigrate", migratable: false },
  { name: "scratch", evictionStrategy: "None" },
];
const OBJECTS = [
  "/api/v1/pods",
  "/api/v1/nodes",
  "/api/v1/configmaps",
  "/apis/policy/v1/poddisruptionbudgets",
  "/apis/lifeboat.dev/v1alpha1/evacuations",
  "/apis/lifeboat.dev/v1alpha1/lifeboatconfigurations",
  "/apis/kubevirt.io/v1/kubevirts",
  "/apis/kubevirt.io/v1/virtualmachineinstances",
  "/apis/kubevirt.io/v1/virtualmachineinstancemigrations",
  "/version",
];

const Review = z.looseObject({ request: z.looseObject({ uid: z.string() }) });

/** Allows everything, and keeps the bodies. */
async function startRecorder(sandbox: Sandbox) {
  const bodies: z.infer<typeof Review>[] = [];
  const { certPem, keyPem } = await sandbox.authority.issue(["127.0.0.1"]);
  const server = createServer({ cert: certPem, key: keyPem }, (incoming, outgoing) => {
    const allow = async () => {
      const review = Review.parse(await json(incoming));
      bodies.push(review);
      const response = { uid: review.request.uid, allowed: true };
      outgoing.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response }));
    };
    void allow();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the recorder has no port");
  return { url: `https://127.0.0.1:${address.port}`, bodies, server };
}

function startRecordedRelay(sandbox: Sandbox, deliveries: unknown[]) {
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(sandbox.kubeconfig);
  return startRelay({
    kubeConfig,
    endpoint: new URL("https://worker.test/clusters/prod/events"),
    secret: `whsec_${Buffer.from("of the relay, for its recording").toString("base64")}`,
    clock: systemClock,
    random: Math.random,
    fetch: async (_, init) => {
      if (typeof init?.body !== "string") throw new TypeError("expected a text");
      deliveries.push(JSON.parse(init.body));
      return new Response(null, { status: 204 });
    },
    log: createLog(systemClock, () => undefined),
  });
}

async function launchersOf(client: KubeClient): Promise<readonly string[]> {
  const { items } = await client.list(pods, namespace);
  return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith("virt-launcher-"));
}

/** As kubectl drain, the descheduler and others write them. */
async function evictAll({ client }: Sandbox): Promise<void> {
  const variants = [
    {},
    { deleteOptions: { dryRun: ["All"] } },
    { metadata: { annotations: { "requested-by": "sigs.k8s.io/descheduler", reason: "NodeUtilization" } } },
    { deleteOptions: { gracePeriodSeconds: 30, preconditions: { uid: "none" } } },
  ];
  for (const [i, name] of (await launchersOf(client)).entries()) {
    const { metadata = {}, ...more } = variants[i % variants.length] ?? {};
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name, ...metadata }, ...more };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
    await client.raw({ method: "POST", path, query: { dryRun: i % 2 === 0 ? "All" : undefined }, body });
  }
}

async function deleteAll({ client }: Sandbox): Promise<void> {
  const users = ["system:kube-scheduler", "system:serviceaccount:kube-system:taint-eviction-controller"];
  for (const [i, name] of (await launchersOf(client)).entries()) {
    const reason = i % 2 === 0 ? "PreemptionByScheduler" : "DeletionByTaintManager";
    const lastTransitionTime = new Date().toISOString().replace(/\.\d+/, "");
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason,
      message: "for the corpus",
      lastTransitionTime,
    };
    const body = { status: { conditions: [condition] } };
    await client.patch(pods, { namespace, name }, { type: "strategic", body }, { subresource: "status" });
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const as = client.as(users[i % 2] ?? "", ["system:masters", "system:authenticated"]);
    await as.raw({ method: "DELETE", path, query: { dryRun: "All" } });
  }
}

/** Budgets, Evacuations, marks, a migration: what Lifeboat itself makes of a drain. */
async function evacuate(doors: Doors, reviews: readonly unknown[]): Promise<void> {
  const send = (path: string, body?: unknown) =>
    doors.request(`/clusters/prod/${path}`, { method: "POST", headers: asWebhook, body: JSON.stringify(body) });
  await send("reconcile");
  for (const review of reviews) {
    const text = JSON.stringify(review)
      .replaceAll('"dryRun":true', '"dryRun":false')
      .replaceAll('"dryRun":["All"]', '"dryRun":[]');
    await send("admission/evictions", JSON.parse(text));
  }
  await doors.settle();
  await send("reconcile");
}

function write(name: string, value: unknown): void {
  writeFileSync(new URL(`corpus/${name}.json`, import.meta.url), `${JSON.stringify(value)}\n`);
}

const sandbox = await startSandbox({ migrationSeconds: 5 });
trust(sandbox);
const { client } = sandbox;
const recorder = await startRecorder(sandbox);
const optional = ["optional/guard.yaml", "optional/configuration.yaml"];
const site = { url: `${recorder.url}/admission/evictions`, caPem: sandbox.authority.caPem, optional };
const { token } = await applyLifeboat(client, site);
for (const name of ["node01", "node02", "node03"]) await createNode(client, name);
const deliveries: unknown[] = [];
const relay = startRecordedRelay(sandbox, deliveries);
for (const vm of VMS) await createVirtualMachineInstance(client, { namespace, node: "node01", ...vm });
await evictAll(sandbox);
const evictions = recorder.bodies.splice(0);
await deleteAll(sandbox);
const deletions = recorder.bodies.splice(0);
await evacuate(openDoors({ CLUSTERS: { prod: entry(sandbox.url, { token }) } }), evictions);
await setTimeout(2000);
const objects = await Promise.all(
  OBJECTS.map(async (path) => [path, (await client.raw({ method: "GET", path })).body]),
);
write("reviews", { evictions, deletions });
write("deliveries", deliveries);
write("objects", Object.fromEntries(objects));
console.log(`${evictions.length} evictions, ${deletions.length} deletions, ${deliveries.length} deliveries`);
recorder.server.close();
await relay.stop();
await sandbox.stop();
