/** The story of a preemption: a pod of high priority needs the room that virtual machines have. */
import { setTimeout as delay } from "node:timers/promises";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { createNodes, createVms } from "../stage/scene.ts";
import { createPod, createPriorityClass } from "../../sandbox/workloads.ts";
import { tellBeside, type Plot } from "./beside-story.ts";
import type { Cluster } from "./cluster.ts";
import type { Scene, Story } from "./story.ts";
import type { World } from "../stage/world.ts";

const NODE = "node-1";
const NAMESPACE = "shop";
const VMS = ["db", "web"];
const PREEMPTOR = "analytics";
/** Of no importance, and small: there is room for them. */
const JOBS = ["job-1", "job-2", "job-3"];

export const preemption: Story = {
  about: "Lifeboat",
  setting: {
    lifeboat: { withIt: { featureGates: { PreemptionEvictionLiveMigration: true } } },
    optional: ["optional/guard/guard.yaml", "optional/migration-policy/migration-policy.yaml"],
  },
  setScene,
  tell: (stage, screen) => tellBeside(PLOT, stage, screen),
  encore: () => [`kubectl get pods -n ${NAMESPACE} -o wide`],
};

const PLOT: Plot = {
  headline: `${NODE} is full. Pod ${NAMESPACE}/${PREEMPTOR}, of high priority, fits nowhere else: the scheduler preempts.`,
  cast: { node: NODE, pods: [PREEMPTOR, ...JOBS].map((name) => `${NAMESPACE}/${name}`) },
  disrupt,
  hasHappened: (_, now) =>
    runsOn(now, `${NAMESPACE}/${PREEMPTOR}`) === NODE && JOBS.every((job) => runsOn(now, `${NAMESPACE}/${job}`)),
};

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, [NODE], { memory: "16Gi" });
  const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", memory: "7Gi", node: NODE };
  await createVms(
    client,
    VMS.map((name) => ({ ...vm, name })),
  );
  // Room for one of the VMs each, none for who preempts them.
  await createNodes(client, ["node-2", "node-3"], { memory: "8Gi" });
  await createPriorityClass(client, "high", 1_000_000);
  return { vms: VMS.length, nodes: 3, pods: 0 };
}

async function disrupt({ client }: Cluster, signal: AbortSignal): Promise<void> {
  const preemptor = { namespace: NAMESPACE, name: PREEMPTOR, priorityClassName: "high" };
  await createPod(client, { ...preemptor, requests: { memory: "12Gi" } });
  for (const name of JOBS) {
    await delay(1000, undefined, { signal });
    await createPod(client, { namespace: NAMESPACE, name, requests: { memory: "64Mi" } });
  }
}

function runsOn({ pods }: World, key: string): string | undefined {
  return [...pods.values()].find((pod) => pod.key === key && pod.phase === "Running")?.nodeName;
}
