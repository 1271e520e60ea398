/** The story of a NoExecute taint: everything that does not tolerate it is driven off a node. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { nodes } from "../../sandbox/actors/resources.ts";
import { createNodes, createVms } from "../stage/scene.ts";
import { createPod } from "../../sandbox/workloads.ts";
import { troublesOf, vmsOn } from "./beside.ts";
import { tellBeside, type Plot } from "./beside-story.ts";
import type { Cluster } from "./cluster.ts";
import { findKubectl } from "./drain.ts";
import type { Scene, Story } from "./story.ts";

const NODE = "node-1";
const NODES = [NODE, "node-2", "node-3"];
const NAMESPACE = "shop";
const VMS = ["cache", "db", "web"];
const TAINT = { key: "CriticalAddonsOnly", value: "true", effect: "NoExecute" };
const COMMAND = ["taint", "node", NODE, `${TAINT.key}=${TAINT.value}:${TAINT.effect}`];
/** It tolerates the taint, as the pods of a DaemonSet do that every node needs. */
const DAEMON = { namespace: "kube-system", name: "log-agent" };
/** It does not, and is no VM. */
const ORDINARY = { namespace: NAMESPACE, name: "report" };

export const taint: Story = {
  about: "Lifeboat",
  setting: {
    lifeboat: { withIt: { featureGates: { NoExecuteTaintEvictionLiveMigration: true } } },
    optional: ["optional/guard/guard.yaml", "optional/migration-policy/migration-policy.yaml"],
  },
  setScene,
  tell: (stage, screen) => tellBeside(plot(), stage, screen),
  encore: () => [`kubectl ${COMMAND.join(" ")}-`, "kubectl taint node node-2 maintenance=now:NoExecute"],
};

function plot(): Plot {
  const hasKubectl = findKubectl() !== undefined;
  return {
    headline: `$ kubectl ${COMMAND.join(" ")}${hasKubectl ? "" : "  (its request: no kubectl on the PATH)"}`,
    cast: { node: NODE, pods: [DAEMON, ORDINARY].map(({ namespace, name }) => `${namespace}/${name}`) },
    disrupt: hasKubectl ? withKubectl : withRequest,
    hasHappened: (_, now) => troublesOf(NODE, now).length > 0 && vmsOn(NODE, now) === 0,
  };
}

async function setScene(client: KubeClient): Promise<Scene> {
  await createNodes(client, NODES);
  const vm = { namespace: NAMESPACE, evictionStrategy: "LiveMigrate", node: NODE };
  await createVms(
    client,
    VMS.map((name) => ({ ...vm, name })),
  );
  await createPod(client, { ...DAEMON, node: NODE, tolerations: [{ key: TAINT.key, operator: "Exists" }] });
  await createPod(client, { ...ORDINARY, node: NODE });
  return { vms: VMS.length, nodes: NODES.length, pods: 2 };
}

async function withKubectl({ kubeconfig }: Cluster): Promise<void> {
  await promisify(execFile)("kubectl", COMMAND, { env: { ...process.env, KUBECONFIG: kubeconfig } });
}

async function withRequest({ client }: Cluster): Promise<void> {
  await client.patch(nodes, { name: NODE }, { type: "strategic", body: { spec: { taints: [TAINT] } } });
}
