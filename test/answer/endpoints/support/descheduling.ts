/** A cluster to deschedule in: two nodes that are Ready, the first of which repels its pods, the shipped permissions, both gates on. */
import { dump } from "js-yaml";
import { createBareNode } from "../../../support/bare-node.ts";
import * as core from "../../../../infra/sandbox/actors/resources.ts";
import { type PolicyFile, policyOf } from "../../../live/descheduling-stage.ts";
import { NAMESPACE, QUIET, startTestCluster, type TestCluster } from "../../../support/test-cluster.ts";

export const BOTH = { EvictionsInBackground: true, DeschedulerSupport: true };
export const POLICY = { namespace: "lifeboat-system", name: "lifeboat-descheduler" };
export const TAINTS = policyOf("RemovePodsViolatingNodeTaints", {});

export async function startToDeschedule(): Promise<TestCluster> {
  const cluster = await startTestCluster(["optional/descheduling/descheduling.yaml"]);
  await cluster.configure({ ...QUIET, featureGates: BOTH });
  await createBareNode(cluster.client, "node02");
  const status = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  for (const name of ["node01", "node02"])
    await cluster.client.patch(core.nodes, { name }, { type: "merge", body: status }, { subresource: "status" });
  const body = { spec: { taints: [{ key: "maintenance", effect: "NoSchedule" }] } };
  await cluster.client.patch(core.nodes, { name: "node01" }, { type: "merge", body });
  return cluster;
}

export async function setPolicy({ client }: TestCluster, policy: PolicyFile | string): Promise<void> {
  const data = { "policy.yaml": typeof policy === "string" ? policy : dump(policy) };
  await client.create(core.configMaps, { metadata: POLICY, data });
}

/** Owned, bound to node01, which repels it. */
export async function createPod({ client }: TestCluster, name: string, annotations = {}): Promise<void> {
  // Whose owner is gone is collected.
  const uid = (await client.get(core.nodes, { name: "node02" }))?.metadata.uid ?? "";
  const owner = { apiVersion: "v1", kind: "Node", name: "node02", uid };
  const metadata = { namespace: NAMESPACE, name, annotations, ownerReferences: [owner] };
  const containers = [{ name: "main", image: "main" }];
  await client.create(core.pods, { metadata, spec: { nodeName: "node01", containers } });
}
