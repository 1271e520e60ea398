/** Runs a descheduling cycle that finds one pod to evict. */
import { dump } from "js-yaml";
import { createBareNode } from "../installed/bare-node.ts";
import { core } from "../../../infra/sandbox/index.ts";
import type { SandboxCluster } from "../installed/worker.ts";
import { ask, type Trial } from "./trial.ts";

const NODES = ["node01", "node02"];
const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };
const LEASE = { namespace: "lifeboat-system", name: "lifeboat-descheduling" };

const EVICTOR = { podProtections: { defaultDisabled: ["PodsWithLocalStorage"] } };

const POLICY_FILE = {
  apiVersion: "descheduler/v1alpha2",
  kind: "DeschedulerPolicy",
  profiles: [
    {
      name: "vms",
      pluginConfig: [
        { name: "DefaultEvictor", args: EVICTOR },
        { name: "RemovePodsViolatingNodeTaints", args: {} },
      ],
      plugins: { deschedule: { enabled: ["RemovePodsViolatingNodeTaints"] } },
    },
  ],
};

export const deschedule = {
  configuration: {
    featureGates: { EvictionsInBackground: true },
    disruptionBudgets: "Never",
  },
  async given({ cluster: { client } }: Trial) {
    await createBareNode(client, "node02");
    for (const name of NODES) {
      const body = { status: { conditions: [{ type: "Ready", status: "True" }] } };
      await client.patch(core.nodes, { name }, { type: "merge", body }, { subresource: "status" });
    }
    const taints = [{ key: "maintenance", effect: "NoSchedule" }];
    await client.patch(core.nodes, { name: "node01" }, { type: "merge", body: { spec: { taints } } });
    const data = { "policy.yaml": dump(POLICY_FILE) };
    await client.create(core.configMaps, { metadata: POLICY, data });
  },
  done: (trial: Trial) => ask(trial, "POST", "/deschedule"),
};

export async function tidyDescheduling({ client }: SandboxCluster): Promise<void> {
  await client.delete(core.nodes, { name: "node02" });
  await client.delete(core.configMaps, POLICY);
  await client.delete(core.leases, LEASE);
}
