/** The drain of the demo's own client behaves as kubectl's. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { drainNode } from "../../infra/demo/drain-client.ts";
import { replicaSets } from "../../infra/demo/replicas.ts";
import { daemonSets } from "../../infra/demo/scene.ts";
import {
  nodes,
  ownerReferenceTo,
  podDisruptionBudgets,
  pods,
  type KubeObject,
  type Resource,
} from "../../infra/sandbox/actors/resources.ts";
import { waitFor } from "../../infra/sandbox/actors/wait-for.ts";
import { createNode } from "../../infra/sandbox/fleet.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";

const namespace = "default";
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await startSandbox({ terminationSeconds: 0 });
});
afterAll(() => sandbox.stop());

const spec = { containers: [{ name: "c", image: "example.com/c" }] };

async function createPod(name: string, node: string, owner?: { object: KubeObject; kind: Resource }) {
  await sandbox.client.create(pods, {
    metadata: {
      namespace,
      name,
      labels: { app: name },
      ...(owner && { ownerReferences: [ownerReferenceTo(owner.object, owner.kind)] }),
    },
    spec: { ...spec, nodeName: node },
  });
  await waitFor(sandbox.client, {
    resource: pods,
    key: { namespace, name },
    what: "running",
    until: ({ status }) => status?.phase === "Running",
  });
}

function template(app: string) {
  const labels = { app };
  return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } };
}

async function drain(node: string, onLine?: (line: string) => void) {
  const lines: string[] = [];
  const drained = await drainNode({
    client: sandbox.client,
    node,
    signal: AbortSignal.timeout(30_000),
    retryMs: 20,
    pollMs: 10,
    onLine(line) {
      lines.push(line);
      onLine?.(line);
    },
  });
  return { drained, lines };
}

test("pods go as their budgets allow, those of a DaemonSet stay", async () => {
  const { client } = sandbox;
  await createNode(client, "busy");
  const set = await client.create(replicaSets, {
    metadata: { namespace, name: "rs" },
    spec: { replicas: 0, ...template("rs") },
  });
  const daemons = await client.create(daemonSets, { metadata: { namespace, name: "ds" }, spec: template("ds") });
  await createPod("free", "busy", { object: set, kind: replicaSets });
  await createPod("held", "busy", { object: set, kind: replicaSets });
  await createPod("daemon", "busy", { object: daemons, kind: daemonSets });
  const held = { minAvailable: 1, selector: { matchLabels: { app: "held" } } };
  const budget = await client.create(podDisruptionBudgets, { metadata: { namespace, name: "held" }, spec: held });
  await waitFor(client, {
    resource: podDisruptionBudgets,
    key: budget.metadata,
    what: "observed",
    until: ({ status }) => status?.observedGeneration === 1,
  });

  const { drained, lines } = await drain("busy", (line) => {
    if (line.startsWith("error when evicting")) void client.delete(podDisruptionBudgets, budget.metadata);
  });

  expect(drained).toBe(true);
  expect(lines.slice(0, 4)).toEqual([
    "node/busy cordoned",
    "Warning: ignoring DaemonSet-managed Pods: default/daemon",
    "evicting pod default/free",
    "evicting pod default/held",
  ]);
  expect(lines).toContain(
    'error when evicting pods/"held" -n "default" (will retry after 5s): ' +
      "Cannot evict pod as it would violate the pod's disruption budget.",
  );
  expect(lines.slice(-1)).toEqual(["node/busy drained"]);
  expect((await client.get(nodes, { name: "busy" }))?.spec?.unschedulable).toBe(true);
  const { items } = await client.list(pods, namespace);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(["daemon"]);
});

test("a pod without a controller is not evicted, as without --force", async () => {
  await createNode(sandbox.client, "strict");
  await createPod("alone", "strict");
  const { drained, lines } = await drain("strict");
  expect(drained).toBe(false);
  expect(lines.at(-1)).toBe("error: cannot delete Pods that declare no controller: default/alone");
  expect(await sandbox.client.get(pods, { namespace, name: "alone" })).toBeDefined();
});

test("a node that is not there cannot be drained", async () => {
  await expect(drain("nowhere")).rejects.toThrow('nodes "nowhere" not found');
});
