/** Performs what a NodeEvacuation takes: the cordon, evictions of pods, restarts and stops of VMs, and what follows afterwards. */
import * as z from "zod/mini";
import { type Action, type ActionOf, type NodeAction, NODE_VERBS } from "../kube/action.ts";
import { type Client, meaningOf, named, type Said } from "../kube/client.ts";
import { requestEviction } from "../kube/requests.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { NamespacedName, VmiFacts } from "../kube/facts.ts";
import { hasEnded } from "../kube/node-evacuation.ts";
import { derivedName, hash8, isFinal } from "../kube/objects.ts";
import { CAUSE_ANNOTATION, CORDONED_BY_ANNOTATION, NAME_PREFIX } from "../kube/names.ts";
import { Meta, part } from "../kube/schemas/fields.ts";
import { addTo, MANAGED, nodeStatus, type Operation, pointer, test } from "./manifests.ts";
import { isForFailures } from "./shutdown.ts";

type Result = "Done" | "Conflict" | "Refused";

const CHANGED = { 404: "Conflict", 409: "Conflict", 422: "Conflict" } as const;
const OWNER = pointer("metadata", "annotations", CORDONED_BY_ANNOTATION);
const UNSCHEDULABLE = pointer("spec", "unschedulable");

const Cordonable = z.object({ metadata: Meta, spec: part({ unschedulable: z.nullish(z.boolean()) }) });

export function isOnNode(action: Action): action is NodeAction {
  return NODE_VERBS.some((verb) => verb === action.verb);
}

export async function actOnNode(action: NodeAction, cluster: Client): Promise<Result> {
  switch (action.verb) {
    case "Cordon":
      return await cordon(action, cluster);
    case "Uncordon":
      return await uncordon(action, cluster);
    case "EvictPod":
      return await evictPod(action, cluster);
    case "ShutDown":
      return await shutDown(action, cluster);
    case "StartVm":
      return await startVm(action, cluster);
    case "ReturnVm":
      return await returnVm(action, cluster);
    case "WithdrawEvacuation":
      return await withdraw(action, cluster);
    case "WriteNodeStatus": {
      const { nodeEvacuation, status } = action;
      const [key, how] = [named(nodeEvacuation.name), { subresource: "status" }];
      return meaningOf(await cluster.patch("nodeevacuations", key, nodeStatus(nodeEvacuation, status), how), CHANGED);
    }
    case "DeleteNodeEvacuation": {
      const { name, uid } = action.nodeEvacuation;
      const deleted = await cluster.delete("nodeevacuations", { ...named(name), uid });
      return meaningOf<Result>(deleted, { 404: "Done", 409: "Conflict" });
    }
  }
}

/** Of a node that is schedulable; or it takes over a cordon that Lifeboat made for one that has ended. */
async function cordon({ node, by, from }: ActionOf<"Cordon">, cluster: Client): Promise<Result> {
  const found = await cluster.get("nodes", named(node), { as: Cordonable });
  const { unschedulable } = found?.spec ?? {};
  if (found === undefined || (unschedulable === true) !== (from !== undefined)) return "Conflict";
  const { annotations, resourceVersion } = found.metadata;
  const exists = annotations !== undefined;
  const patch = [
    test(UNSCHEDULABLE, unschedulable),
    ...(from === undefined ? [{ op: "add", path: UNSCHEDULABLE, value: true } as const] : [test(OWNER, from)]),
    ...addTo("annotations", { exists, resourceVersion }, { [CORDONED_BY_ANNOTATION]: by }),
  ];
  return meaningOf(await cluster.patch("nodes", named(node), patch), CHANGED);
}

/** Takes back a cordon of its own; or only its name, where the cordon stays or another party has taken it back. */
async function uncordon({ node, by, stays }: ActionOf<"Uncordon">, cluster: Client): Promise<Result> {
  const found = await cluster.get("nodes", named(node), { as: Cordonable });
  if (found?.metadata.annotations?.[CORDONED_BY_ANNOTATION] !== by) return "Done";
  const { unschedulable } = found.spec;
  const opened: readonly Operation[] =
    unschedulable === true && stays !== true ? [{ op: "remove", path: UNSCHEDULABLE }] : [];
  const patch = [test(OWNER, by), test(UNSCHEDULABLE, unschedulable), ...opened, { op: "remove", path: OWNER }];
  return meaningOf(await cluster.patch("nodes", named(node), patch), CHANGED);
}

/** `Done`: it was asked for. The next look shows what a budget has said. */
async function evictPod({ pod }: ActionOf<"EvictPod">, cluster: Client): Promise<Result> {
  const answer = await requestEviction(pod, {}, cluster);
  return meaningOf<Result>(answer, { 404: "Done", 409: "Conflict", 422: "Conflict", 429: "Done", 500: "Refused" });
}

/** Refused by KubeVirt: the VM is not as it has to be, or changes already. */
const TAKEN = { 400: "Refused", 404: "Conflict", 409: "Refused", 422: "Refused", 500: "Refused" } as const;

/** By what is true just now: it is still wanted; the VMI is the same, has not left, does not migrate, and still cannot. */
async function shutDown({ e, vmi }: ActionOf<"ShutDown">, cluster: Client): Promise<Result> {
  const node = await nodeToBeEmptied(e, cluster);
  const now = await cluster.get("virtualmachineinstances", vmi);
  if (now === undefined || node === undefined || !isAsJudged(now, { ...vmi, nodeName: node })) return "Conflict";
  if (now.liveMigratable.migratable && !isForFailures(e)) return "Conflict";
  const vm = await cluster.get("virtualmachines", vmi);
  if (vm === undefined || vm.isChanging || vm.runStrategy !== e.spec.runStrategy) return "Conflict";
  return await change(e.spec.by === "Restart" ? "restart" : "stop", vmi, cluster);
}

/** Undefined: the NodeEvacuation has ended meanwhile, or is to. */
async function nodeToBeEmptied({ spec }: EvacuationFacts, cluster: Client): Promise<string | undefined> {
  const all = await cluster.list("nodeevacuations");
  const ne = all.find(({ uid }) => uid === spec.nodeEvacuation?.uid);
  return ne === undefined || hasEnded(ne) || ne.spec.intent === "Withdrawn" ? undefined : ne.spec.nodeName;
}

function isAsJudged(now: VmiFacts, { uid, nodeName }: VmiFacts): boolean {
  const isStill = now.uid === uid && now.nodeName === nodeName && !now.deleting && !isFinal(now);
  return isStill && !now.isMigrating && now.decentralized === undefined;
}

/** One that has stopped its VM since it was read does nothing any more. */
async function withdraw({ evacuation }: ActionOf<"WithdrawEvacuation">, cluster: Client): Promise<Result> {
  const answer = await cluster.patch("evacuations", evacuation, { spec: { intent: "Withdrawn" } });
  if (answer.code < 300 && answer.facts().status.phase === "Stopped") return await startVm({ evacuation }, cluster);
  return meaningOf<Result>(answer, { 404: "Done" });
}

/** If it is as Lifeboat has left it: its owner may have decided otherwise. */
async function startVm({ evacuation }: Omit<ActionOf<"StartVm">, "verb">, cluster: Client): Promise<Result> {
  const { namespace, spec } = evacuation;
  const key = { namespace, name: spec.vmiName };
  const [vm, vmi] = [await cluster.get("virtualmachines", key), await cluster.get("virtualmachineinstances", key)];
  const left = spec.runStrategy === "Always" ? "Halted" : spec.runStrategy;
  if (vm === undefined || vm.runStrategy !== left) return "Done";
  const isOff = vmi === undefined || isFinal(vmi);
  if (!isOff && !vmi.deleting) return "Done";
  // The stop is not over yet: it would swallow the start.
  return vm.isChanging || !isOff ? "Conflict" : await change("start", key, cluster);
}

async function change(what: "restart" | "stop" | "start", vm: NamespacedName, cluster: Client): Promise<Result> {
  const options = { resource: "virtualmachines", expect: [400, 500] } as const;
  const answer: Said = await cluster.update(vm, what, {}, options);
  return meaningOf<Result>(answer, TAKEN);
}

/** On some clouds it differs from the node's name. */
const HOSTNAME = "kubernetes.io/hostname";

/** Back to the node that it has left, by a migration of which only the target pod has to be there. */
async function returnVm({ vmi, node, nodeEvacuation }: ActionOf<"ReturnVm">, cluster: Client): Promise<Result> {
  const found = await cluster.get("nodes", named(node), { as: Cordonable });
  const name = derivedName(NAME_PREFIX, vmi.name, `${hash8(`${nodeEvacuation.uid}/${vmi.uid}`)}-back`);
  const annotations = { [CAUSE_ANNOTATION]: "NodeEvacuation" };
  const manifest = {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstanceMigration",
    metadata: { namespace: vmi.namespace, name, labels: MANAGED, annotations },
    spec: { vmiName: vmi.name, addedNodeSelector: { [HOSTNAME]: found?.metadata.labels?.[HOSTNAME] ?? node } },
  };
  const answer = await cluster.create("virtualmachineinstancemigrations", manifest, { expect: [400] });
  return meaningOf<Result>(answer, { 400: "Refused", 404: "Done", 409: "Done", 422: "Refused" });
}
