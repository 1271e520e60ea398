/** Performs the actions of a NodeEvacuation: cordons the node, evicts pods, restarts and stops VMs, and cleans up. */
import * as z from "zod/mini";
import { type Action, type ActionOf, type NodeAction, NODE_VERBS } from "../kube/action.ts";
import { type Client, meaningOf, named, type Said } from "../kube/client.ts";
import { decide } from "../facts/decide.ts";
import { liveReads } from "../facts/reads.ts";
import { requestEviction } from "../kube/requests.ts";
import type { NamespacedName } from "../kube/facts.ts";
import { derivedName, hash8 } from "../kube/objects.ts";
import { CAUSE_ANNOTATION, CORDONED_BY_ANNOTATION, isPendingTaint, NAME_PREFIX, PENDING_TAINT } from "../kube/names.ts";
import { Meta, part } from "../kube/schemas/fields.ts";
import {
  addTo,
  MANAGED,
  nodeEvacuation,
  nodeStatus,
  type Operation,
  pointer,
  rollingStatus,
  test,
} from "./manifests.ts";
import { mayStillBeAsked, startNow } from "../evacuation/asking.ts";

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
    case "Steer":
      return await steer(action, cluster);
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
    case "CreateNodeEvacuation":
      return meaningOf<Result>(await cluster.create("nodeevacuations", nodeEvacuation(action)), { 409: "Done" });
    case "WriteRollingStatus": {
      const [key, how] = [named(action.rm.name), { subresource: "status" }];
      return meaningOf(await cluster.patch("rollingmaintenances", key, rollingStatus(action), how), CHANGED);
    }
    case "DeleteRollingMaintenance": {
      const deleted = await cluster.delete("rollingmaintenances", { ...named(action.rm.name), uid: action.rm.uid });
      return meaningOf<Result>(deleted, { 404: "Done", 409: "Conflict" });
    }
  }
}

/** Cordons a node. If an ended NodeEvacuation cordoned the node, changes only the cordoned-by annotation. */
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

/**
 * Removes Lifeboat's cordon. If `stays` is true, or another party uncordoned the node, removes only the cordoned-by
 * annotation.
 */
async function uncordon({ node, by, stays }: ActionOf<"Uncordon">, cluster: Client): Promise<Result> {
  const found = await cluster.get("nodes", named(node), { as: Cordonable });
  if (found?.metadata.annotations?.[CORDONED_BY_ANNOTATION] !== by) return "Done";
  const { unschedulable } = found.spec;
  const opened: readonly Operation[] =
    unschedulable === true && stays !== true ? [{ op: "remove", path: UNSCHEDULABLE }] : [];
  const patch = [test(OWNER, by), test(UNSCHEDULABLE, unschedulable), ...opened, { op: "remove", path: OWNER }];
  return meaningOf(await cluster.patch("nodes", named(node), patch), CHANGED);
}

const TAINTS = pointer("spec", "taints");
const Tainted = z.object({
  spec: part({ taints: z.nullish(z.array(z.looseObject({ key: z.string(), effect: z.string() }))) }),
});

/**
 * Adds or removes the taint that makes the scheduler prefer other nodes. The patch tests that the node's taints have
 * not changed.
 */
async function steer({ node, isPending }: ActionOf<"Steer">, cluster: Client): Promise<Result> {
  const found = await cluster.get("nodes", named(node), { as: Tainted });
  const before = found?.spec.taints ?? [];
  if (found === undefined || before.some(isPendingTaint) === isPending) return "Done";
  const others = before.filter((taint) => !isPendingTaint(taint));
  const after = isPending ? [...others, PENDING_TAINT] : others;
  const patch: readonly Operation[] = [
    test(TAINTS, found.spec.taints),
    after.length === 0 ? { op: "remove", path: TAINTS } : { op: "add", path: TAINTS, value: after },
  ];
  return meaningOf(await cluster.patch("nodes", named(node), patch), CHANGED);
}

/**
 * Evicts a pod. Returns `Refused` if a webhook, a policy or a PodDisruptionBudget refuses the eviction, or if two
 * budgets select the pod.
 */
async function evictPod({ pod }: ActionOf<"EvictPod">, cluster: Client): Promise<Result> {
  const answer = await requestEviction(pod, {}, cluster);
  // Only a 403 for a missing permission contains this text.
  const isAdmissions = answer.code === 403 && !answer.message.includes(" cannot create resource ");
  const meanings = { 404: "Done", 409: "Conflict", 422: "Conflict", 429: "Refused", 500: "Refused" } as const;
  return meaningOf<Result>(answer, isAdmissions ? { ...meanings, 403: "Refused" } : meanings);
}

/** The meaning of KubeVirt's answers to a restart or a stop. `Refused`: the VM has changed, or is being changed. */
const TAKEN = { 400: "Refused", 404: "Conflict", 409: "Refused", 422: "Refused", 500: "Refused" } as const;

/**
 * Restarts or stops a VM. Reads all facts a second time before the request, because KubeVirt's request has no
 * precondition.
 */
async function shutDown({ e, vmi }: ActionOf<"ShutDown">, cluster: Client): Promise<Result> {
  const { answer: mayStill } = await decide((facts) => mayStillBeAsked(e, vmi, facts), liveReads(cluster));
  if (!mayStill) return "Conflict";
  return await change(e.spec.by === "Restart" ? "restart" : "stop", vmi, cluster, TAKEN);
}

async function withdraw({ evacuation }: ActionOf<"WithdrawEvacuation">, cluster: Client): Promise<Result> {
  const answer = await cluster.patch("evacuations", evacuation, { spec: { intent: "Withdrawn" } });
  return meaningOf<Result>(answer, { 404: "Done" });
}

async function startVm({ evacuation: e }: ActionOf<"StartVm">, cluster: Client): Promise<Result> {
  const { answer } = await decide((facts) => startNow(e, facts), liveReads(cluster));
  switch (answer) {
    case "NotNeeded":
      return "Done";
    case "TooEarly":
      return "Conflict";
    case "Start":
      return await change("start", { namespace: e.namespace, name: e.spec.vmiName }, cluster, STARTED);
  }
}

/**
 * KubeVirt's answers to a start. A 500 is an error and not a refusal, because virt-api answers 500 for every failed
 * patch.
 */
const STARTED = { 400: "Refused", 404: "Conflict", 409: "Refused", 422: "Refused" } as const;

async function change(
  what: "restart" | "stop" | "start",
  vm: NamespacedName,
  cluster: Client,
  meanings: Readonly<Record<number, Result>>,
): Promise<Result> {
  const options = { resource: "virtualmachines", expect: [400, 500] } as const;
  const answer: Said = await cluster.update(vm, what, {}, options);
  return meaningOf<Result>(answer, meanings);
}

/** The label with the node's hostname. Some clouds use a hostname that differs from the node's name. */
const HOSTNAME = "kubernetes.io/hostname";

/** Migrates a VM back to its former node. The node selector applies only to this migration. */
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
