/**
 * Creates a node without taints in a sandbox without a node controller. In other sandboxes, the node controller removes
 * the taint of a new node.
 */
import { type KubeClient, type Node, nodes } from "../../../infra/sandbox/index.ts";

export async function createBareNode(client: KubeClient, name: string): Promise<Node> {
  await client.create(nodes, { metadata: { name }, spec: {} });
  const status = { allocatable: { cpu: "16", memory: "64Gi", pods: "110" } };
  await client.patch(nodes, { name }, { type: "merge", body: { status } }, { subresource: "status" });
  return await client.patch(nodes, { name }, { type: "merge", body: { spec: { taints: null } } });
}
