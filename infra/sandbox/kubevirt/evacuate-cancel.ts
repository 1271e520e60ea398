/**
 * virt-api's subresource `evacuate/cancel`, which removes evacuationNodeName from a VMI's status. Upstream:
 * pkg/virt-api/rest/evacuate_cancel.go.
 */
import type { KubeClient } from "../actors/client.ts";
import { controllerOf, nodes } from "../actors/resources.ts";
import { messageOf } from "../actors/status-error.ts";
import * as kubevirt from "./resources.ts";
import {
  conflict,
  internal,
  type Key,
  notFound,
  optionsIn,
  refusal,
  type SubresourceAnswer,
} from "./subresource-answers.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export async function cancelOfVmi(client: KubeClient, key: Key, body: string): Promise<SubresourceAnswer> {
  const vmi = await client.get(kubevirt.virtualMachineInstances, key);
  return vmi === undefined ? notFound("virtualmachineinstance", key) : await cancel(client, vmi, body);
}

export async function cancelOfVm(client: KubeClient, key: Key, body: string): Promise<SubresourceAnswer> {
  const vm = await client.get(kubevirt.virtualMachines, key);
  if (vm === undefined) return notFound("virtualmachine", key);
  if (vm.status?.created !== true) return conflict(key, "VMI is not started");
  const vmi = await client.get(kubevirt.virtualMachineInstances, key);
  if (vmi === undefined) return notFound("virtualmachineinstance", key);
  if (controllerOf(vmi)?.uid === vm.metadata.uid) return await cancel(client, vmi, body);
  return internal(`unable to retrieve vmi [${key.name}] for vm: <nil>`);
}

const DRAIN_TAINT = "kubevirt.io/drain";
const MARK = "/status/evacuationNodeName";

async function cancel(client: KubeClient, vmi: Vmi, body: string): Promise<SubresourceAnswer> {
  const refused = await refusalByNode(client, vmi);
  if (refused !== undefined || vmi.status?.evacuationNodeName === undefined) return refused ?? { code: 200 };
  const { evacuationNodeName = "" } = optionsIn(body);
  const operations = [
    { op: "test", path: MARK, value: evacuationNodeName },
    { op: "remove", path: MARK },
  ];
  try {
    await client.patch(kubevirt.virtualMachineInstances, vmi.metadata, { type: "json", body: operations });
    return { code: 200 };
  } catch (error) {
    return internal(messageOf(error));
  }
}

/** Returns a refusal if the node has KubeVirt's drain taint, because KubeVirt then evacuates the node's VMIs anyway. */
async function refusalByNode(client: KubeClient, { status = {} }: Vmi): Promise<SubresourceAnswer | undefined> {
  const taintKey = await drainTaintKey(client);
  const name = status.evacuationNodeName ?? status.nodeName ?? "";
  const node = await client.get(nodes, { name });
  if (node === undefined) return internal(`nodes "${name}" not found`);
  const isDrained = (node.spec?.taints ?? []).some(({ key, effect }) => key === taintKey && effect === "NoSchedule");
  if (!isDrained) return undefined;
  return refusal(400, "BadRequest", `Node "${name}" has NodeDrainTaintKey "${taintKey}:NoSchedule"`);
}

async function drainTaintKey(client: KubeClient): Promise<string> {
  const [kubeVirt] = (await client.list(kubevirt.kubeVirts)).items;
  return kubeVirt?.spec.configuration?.migrations?.nodeDrainTaintKey ?? DRAIN_TAINT;
}
