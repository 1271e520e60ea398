/**
 * Drains six nodes in turn. kubectl uses the order of their names. A RollingMaintenance uses the order of `lifeboat
 * plan`.
 */
import { setTimeout as delay } from "node:timers/promises";
import { load } from "js-yaml";
import * as z from "zod/mini";
import { run } from "../../../cli/run.ts";
import { type KubeClient, kubevirt, nodes, waitFor } from "../../../sandbox/index.ts";
import { drainNode } from "../../stage/drain-client.ts";
import { nodeEvacuations, rollingMaintenances } from "../../stage/evacuations.ts";
import { quietHost } from "../../stage/host.ts";
import { createNodes, createVms } from "../../stage/scene.ts";
import { type Cluster, lifeboatOf } from "../clusters.ts";
import type { Act, Scene } from "../scenario.ts";

const LARGE = ["node-1", "node-2"];
const SMALL = ["node-3", "node-4", "node-5", "node-6"];
const NODES = [...LARGE, ...SMALL];
const NAMESPACE = "shop";
const VMS = [
  // This VM fits only on an empty large node.
  { name: "warehouse", node: "node-1", memory: "12Gi" },
  { name: "web-1", node: "node-2", memory: "4Gi" },
  { name: "web-2", node: "node-2", memory: "4Gi" },
  { name: "cart", node: "node-3", memory: "1Gi" },
  { name: "mail", node: "node-4", memory: "1Gi" },
];
/**
 * KubeVirt reports this VM as migratable, but all of its migrations fail. No other VM has its CPU model, so the plan
 * blames only this VM for the failures.
 */
const FAILING = { name: "legacy", node: "node-6", memory: "1Gi", cpuModel: "Cascadelake-Server" };

const TIMEOUT_SECONDS = 7;
const POLL_MS = 200;
/** The interval of Lifeboat's scheduled work. In a real cluster the interval is a minute. */
const TICK_MS = 1000;

const PRINTED = z.looseObject({
  metadata: z.object({ name: z.string() }),
  spec: z.looseObject({ nodes: z.object({ names: z.array(z.string()) }) }),
});

const FOUND = z.object({
  nodes: z.array(z.object({ node: z.string(), verdict: z.string(), unknown: z.array(z.string()) })),
});

export const plan: Act = {
  about: "Lifeboat",
  lifeboat: { withIt: {} },
  optional: ["optional/maintenance/maintenance.yaml"],
  setScene,
  outcome: ({ name }) => (name === FAILING.name ? "Failed" : "Succeeded"),
  nodes: NODES,
  pods: [],
  prologue: rehearse,
  headline: [
    `Now the maintenance starts. Without Lifeboat: kubectl drain --timeout=${TIMEOUT_SECONDS}s and kubectl uncordon for each node, in the given order.`,
    "With Lifeboat, for the nodes of the last plan: lifeboat plan … --order planned -o yaml | kubectl apply -f -",
  ],
  disrupt: (cluster, over, say) => (cluster.lifeboat === undefined ? drainEach : maintain)(cluster, over, say),
  hasHappened: (_, now) => [...now.nodes.values()].every(({ cordoned }) => !cordoned),
  lostWithout: 0,
  isEndless: true,
  epilogue: [
    "Before the maintenance, kubectl drain did not show which nodes it cannot drain. The plan named these nodes and the causes in advance.",
    "",
  ],
  encore: "npm run lifeboat -- plan --order planned -o wide",
};

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, LARGE, { memory: "16Gi" });
  await createNodes(client, SMALL, { memory: "8Gi" });
  const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate" };
  const vms = [...VMS, FAILING].map((one) => ({ ...vm, ...one }));
  await createVms(client, vms);
  // Creates a migration that fails, because `lifeboat plan` takes failed migrations into account.
  const metadata = { namespace: NAMESPACE, name: `${FAILING.name}-attempt` };
  await client.create(kubevirt.migrations, { metadata, spec: { vmiName: FAILING.name } });
  await waitFor(client, {
    resource: kubevirt.migrations,
    key: metadata,
    what: "failed",
    until: ({ status }) => status?.phase === "Failed",
  });
  return { vms: vms.length, nodes: NODES.length, pods: 0 };
}

/**
 * Returns the output of `lifeboat plan` for the given order of the nodes and for a planned order. The planned order
 * omits nodes that might not drain completely.
 */
async function rehearse(cluster: Cluster): Promise<readonly string[]> {
  const given = await lifeboat(cluster, ["plan"]);
  const { names, leftOut } = await promised(cluster);
  const planned = await lifeboat(cluster, ["plan", ...names, "--order", "planned"]);
  return [...given, ...planned, "", ...leftOut];
}

/** Returns the nodes that drain completely according to `lifeboat plan`, and why each other node is omitted. */
async function promised(cluster: Cluster) {
  const said = await lifeboat(cluster, ["plan", "--order", "planned", "-o", "json"]);
  const found = FOUND.parse(JSON.parse(outputOf(said)));
  const isPromised = ({ verdict }: (typeof found)["nodes"][number]) => verdict.startsWith("WillSucceed");
  const leftOut = found.nodes
    .filter((one) => !isPromised(one))
    .map(({ node, verdict, unknown }) => `${node} is not drained: ${[verdict, ...unknown].join(", ")}`);
  const wanted = new Set(found.nodes.filter(isPromised).map(({ node }) => node));
  return { names: NODES.filter((node) => wanted.has(node)), leftOut };
}

async function lifeboat({ kubeconfig }: Cluster, words: readonly string[]): Promise<readonly string[]> {
  const said: string[] = [];
  const host = { ...quietHost(), stdout: { write: (text: string) => said.push(text) } };
  await run([...words, "--kubeconfig", kubeconfig], host);
  return ["", `$ lifeboat ${words.join(" ")}`, "", ...said.join("").trimEnd().split("\n")];
}

function outputOf(said: readonly string[]): string {
  return said.slice(3).join("\n");
}

async function drainEach({ client }: Cluster, over: AbortSignal, say: (line: string) => void): Promise<void> {
  for (const node of NODES) {
    say(`$ kubectl drain ${node} --timeout=${TIMEOUT_SECONDS}s`);
    const signal = AbortSignal.any([over, AbortSignal.timeout(TIMEOUT_SECONDS * 1000)]);
    const drained = drainNode({ client, node, onLine: say, signal });
    await drained.catch((error: unknown) => {
      if (over.aborted || !signal.aborted) throw error;
    });
    if (signal.aborted) say(`error: unable to drain node "${node}": global timeout reached: ${TIMEOUT_SECONDS}s`);
    await uncordon(client, node);
  }
}

async function uncordon(client: KubeClient, node: string): Promise<void> {
  await client.patch(nodes, { name: node }, { type: "strategic", body: { spec: { unschedulable: false } } });
}

/** Creates the RollingMaintenance that `lifeboat plan` prints. Resolves to true if all of its nodes were evacuated. */
async function maintain(cluster: Cluster, over: AbortSignal, say: (line: string) => void): Promise<boolean> {
  const { client } = cluster;
  const { names } = await promised(cluster);
  const printed = await lifeboat(cluster, ["plan", ...names, "--order", "planned", "-o", "yaml"]);
  const wanted = PRINTED.parse(load(outputOf(printed)));
  await client.create(rollingMaintenances, wanted);
  say(`rollingmaintenance.lifeboat.dev/${wanted.metadata.name} created`);
  let nextTick = 0;
  while (!over.aborted) {
    const { status } = (await client.get(rollingMaintenances, wanted.metadata)) ?? {};
    if (status?.phase !== undefined) say(`${wanted.metadata.name}: ${status.phase}: ${status.message}`);
    await takeBack(client, say);
    if (status?.phase === "Completed") return true;
    if (status?.phase === "Stopped") return false;
    if (Date.now() >= nextTick) {
      await lifeboatOf(cluster).reconcile();
      nextTick = Date.now() + TICK_MS;
    }
    await delay(POLL_MS);
  }
  return false;
}

async function takeBack(client: KubeClient, say: (line: string) => void): Promise<void> {
  const { items } = await client.list(nodeEvacuations);
  for (const { spec } of items.filter((one) => one.status?.phase === "Evacuated")) {
    const node = await client.get(nodes, { name: spec.nodeName });
    if (node?.spec?.unschedulable !== true) continue;
    say(`$ kubectl uncordon ${spec.nodeName}`);
    await uncordon(client, spec.nodeName);
  }
}
