/**
 * Tests that `lifeboat explain node` predicts drains correctly in odd situations: hotplug, changed selectors, leftover
 * launcher pods, migrations and maintenance in progress, and scheduling gates. PodDisruptionBudgets, quotas and CPUs
 * vary, too. The nightly run tries more situations.
 */
import { setTimeout as delay } from "node:timers/promises";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type * as z from "zod/mini";
import { drainNode } from "../../infra/lab/stage/drain-client.ts";
import { nodeEvacuations } from "../../infra/lab/stage/evacuations.ts";
import { KUBEVIRT, kubevirt, kubeVirts, nodes, pods, waitFor } from "../../infra/sandbox/index.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { NodePreflight } from "../support/cli/node-preflight.ts";
import { PATIENCE, SIMULATED_ONLY } from "../support/setup/simulated-only.ts";
import { type AnyDrain, anyDrain, setUp, tearDown } from "./any-drain.ts";
import { type Gatekeeper, startGatekeeper } from "./gates.ts";
import { MAINTENANCE } from "./maintenance-stage.ts";
import { type Stage, startStage } from "./stage.ts";

const SIDE_BY_SIDE = 5;
const ROUNDS = process.env["LIFEBOAT_NIGHTLY"] === undefined ? 2 : 10;
const STAYS_MS = 4000;
const LEAVES_MS = 30_000;

const anyOddity = fc.constantFrom(
  "Nothing",
  "HotpluggedLittle",
  "HotpluggedTooMuch",
  "SelectsAPool",
  "SelectsNoNode",
  "SelectsItsNode",
  "LeftOver",
  "Migrating",
  "Gated",
  "GatedForAMoment",
);
type Oddity = typeof anyOddity extends fc.Arbitrary<infer T> ? T : never;

const anyMaintenance = fc.constantFrom("None", "None", "OfTheNode", "OfTheNodePaused", "OfATarget");

/** Generates a situation without a quota, because a quota would refuse a leftover launcher pod. */
const anySituation = fc
  .record({ drain: anyDrain, odd: fc.array(anyOddity, { minLength: 3, maxLength: 3 }), maintenance: anyMaintenance })
  .map(({ drain, odd, ...more }) => ({
    ...more,
    odd,
    drain: odd.includes("LeftOver") ? { ...drain, quota: undefined } : drain,
  }));
type Situation = typeof anySituation extends fc.Arbitrary<infer T> ? T : never;
const rounds = fc.sample(fc.array(anySituation, { minLength: SIDE_BY_SIDE, maxLength: SIDE_BY_SIDE }), {
  seed: 20_261_128,
  numRuns: ROUNDS,
});

type Foretold = z.output<typeof NodePreflight>;

let stage: Stage;
let gatekeeper: Gatekeeper;
beforeAll(async () => {
  const options = { migrationSeconds: 1, configuration: {}, workloads: true, optional: MAINTENANCE } as const;
  stage = await startStage({ nodes: ["node01"], relay: true, ...options });
  gatekeeper = await startGatekeeper(stage.client);
  const body = { spec: { configuration: { migrations: { parallelMigrationsPerCluster: 50 } } } };
  await stage.client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body });
}, 120_000 * PATIENCE);
afterAll(async () => {
  await stage.stop();
  await gatekeeper.stop();
});

const CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller";
const POOL = "example.com/pool";

async function patchVmi(key: { readonly namespace: string; readonly name: string }, spec: object): Promise<void> {
  const by = stage.client.as(CONTROLLER);
  await by.patch(kubevirt.virtualMachineInstances, key, { type: "merge", body: { spec } });
}

type Vmi = kubevirt.VirtualMachineInstance;

const MAKE_ODD: Readonly<Record<Oddity, (vmi: Vmi, node: string, w: AnyDrain) => Promise<void>>> = {
  Nothing: () => Promise.resolve(),
  HotpluggedLittle: (vmi) => patchVmi(keyOf(vmi), { domain: { memory: { guest: "256Mi" } } }),
  HotpluggedTooMuch: (vmi) => patchVmi(keyOf(vmi), { domain: { memory: { guest: "4Ti" } } }),
  SelectsAPool: async (vmi, node) => {
    await stage.client.patch(
      nodes,
      { name: `${node}-to-0` },
      { type: "merge", body: { metadata: { labels: { [POOL]: "a" } } } },
    );
    await patchVmi(keyOf(vmi), { nodeSelector: { [POOL]: "a" } });
  },
  SelectsNoNode: (vmi) => patchVmi(keyOf(vmi), { nodeSelector: { [POOL]: "none" } }),
  SelectsItsNode: (vmi, node) => patchVmi(keyOf(vmi), { nodeSelector: { "kubernetes.io/hostname": node } }),
  LeftOver: async (vmi, node) => {
    const { namespace, name } = keyOf(vmi);
    const labelSelector = `kubevirt.io/created-by=${vmi.metadata.uid}`;
    const [own] = (await stage.client.list(pods, namespace, { labelSelector })).items;
    if (own?.spec === undefined) throw new Error(`${name} has no launcher pod`);
    const { labels = {}, annotations = {}, ownerReferences = [] } = own.metadata;
    const metadata = { namespace, name: `virt-launcher-${name}-older`, labels, annotations, ownerReferences };
    const { containers, tolerations = [] } = own.spec;
    await stage.client.create(pods, { metadata, spec: { containers, tolerations, nodeName: `${node}-to-0` } });
    await waitFor(stage.client, {
      resource: kubevirt.virtualMachineInstances,
      key: keyOf(vmi),
      what: "shown with two launcher pods",
      until: hasTwoPods,
    });
  },
  Migrating: async (vmi) => {
    const { namespace, name } = keyOf(vmi);
    const migration = { metadata: { namespace, name: `${name}-asked` }, spec: { vmiName: name } };
    // KubeVirt refuses the migration if the VM cannot migrate.
    await stage.client.create(kubevirt.migrations, migration).catch(() => undefined);
  },
  Gated: async (vmi) => void (await gatekeeper.migrate(vmi)),
  GatedForAMoment: openLater,
};

const OPENS_MS = 2000;

async function openLater(vmi: Vmi): Promise<void> {
  const gated = await gatekeeper.migrate(vmi);
  void delay(OPENS_MS).then(async () => await gated?.open());
}

const STARTED: readonly unknown[] = ["Evacuating", "Blocked", "Evacuated"];

async function maintain(name: string, { maintenance }: Situation): Promise<void> {
  if (maintenance === "None") return;
  const nodeName = maintenance === "OfATarget" ? `${name}-to-0` : name;
  await stage.client.create(nodeEvacuations, { metadata: { name }, spec: { nodeName } });
  const started = { resource: nodeEvacuations, key: { name }, what: "started" };
  await waitFor(stage.client, { ...started, until: ({ status }) => STARTED.includes(status?.phase) });
  if (maintenance !== "OfTheNodePaused") return;
  await stage.client.patch(nodeEvacuations, { name }, { type: "merge", body: { spec: { progress: "Paused" } } });
}

async function withdraw(name: string, { maintenance }: Situation): Promise<void> {
  if (maintenance === "None") return;
  await stage.client.patch(nodeEvacuations, { name }, { type: "merge", body: { spec: { intent: "Withdrawn" } } });
}

function hasTwoPods({ status }: Vmi): boolean {
  return Object.keys(status?.activePods ?? {}).length > 1;
}

function keyOf({ metadata: { namespace = "", name } }: Vmi) {
  return { namespace, name };
}

async function foretold(node: string): Promise<Foretold> {
  const { out } = await lifeboat(`explain node ${node} -o json`, { kubeconfig: stage.sandbox.kubeconfig });
  return NodePreflight.parse(JSON.parse(out.join("\n")));
}

const willSucceed = ({ verdict }: Foretold) => verdict === "WillSucceed" || verdict === "WillSucceedWithShutdowns";

async function isDrained(node: string, signal: AbortSignal): Promise<boolean> {
  const quick = { onLine: () => undefined, retryMs: 500, pollMs: 100 };
  return await drainNode({ client: stage.client, node, signal, ...quick }).catch(() => false);
}

async function makeOdd(named: readonly (Situation & { readonly name: string })[]): Promise<void> {
  // Sets up all nodes first. A new node has no taint for a moment, and an evicted pod could move to that node.
  for (const { drain, name } of named) await setUp(stage, name, drain);
  for (const { drain, odd, name } of named) {
    const { items } = await stage.client.list(kubevirt.virtualMachineInstances, name);
    for (const [i, vmi] of items.entries()) await MAKE_ODD[odd[i] ?? "Nothing"](vmi, name, drain);
  }
  for (const one of named) await maintain(one.name, one);
}

const seen: Record<string, number> = {};

const LONG = { tags: SIMULATED_ONLY.slice(0, 1).map(({ name }) => name), timeout: 4 * LEAVES_MS };

test.for([...rounds.entries()])("round %i: a drain ends as its forecast says", LONG, async ([index, situations]) => {
  const named = situations.map((one, i) => ({ ...one, name: `situation-${index}-${i}` }));
  await makeOdd(named);
  const foreseen = await Promise.all(named.map(async (one) => ({ ...one, said: await foretold(one.name) })));
  const over = new AbortController();
  const running = foreseen.map(({ said, ...one }) => {
    const signal = willSucceed(said) ? AbortSignal.timeout(LEAVES_MS) : over.signal;
    return { ...one, said, done: isDrained(one.name, signal) };
  });
  await Promise.all([delay(STAYS_MS), ...running.filter(({ said }) => willSucceed(said)).map(({ done }) => done)]);
  over.abort();
  for (const { name, done, said, drain, odd, maintenance } of running) {
    await done;
    seen[said.verdict] = (seen[said.verdict] ?? 0) + 1;
    const { items } = await stage.client.list(pods, undefined, { fieldSelector: `spec.nodeName=${name}` });
    const context = JSON.stringify({ said, drain, odd, maintenance });
    if (said.verdict !== "Unknown") expect(items.length === 0, context).toBe(willSucceed(said));
  }
  for (const one of named) await withdraw(one.name, one);
  for (const { name, drain } of named) await tearDown(stage, name, drain);
});

test("the verdict of most forecasts is not Unknown", () => {
  const all = Object.values(seen).reduce((sum, count) => sum + count, 0);
  expect(all).toBe(ROUNDS * SIDE_BY_SIDE);
  expect(seen["Unknown"] ?? 0, JSON.stringify(seen)).toBeLessThan(all / 2);
});
