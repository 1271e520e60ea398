/** Making happen what the plan says, and whether it has: what is done in vain has disturbed nothing. */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../sandbox/actors/clock.ts";
import { terminateNode } from "../../sandbox/actors/node-termination.ts";
import { leases, nodes, pods } from "../../sandbox/actors/resources.ts";
import { USERS } from "../../sandbox/identities.ts";
import { isFinal, virtualMachineInstances } from "../../sandbox/kubevirt/resources.ts";
import { isSimulated } from "../../sandbox/sandbox.ts";
import { createPod } from "../../sandbox/workloads.ts";
import { simulatedIn } from "./arena.ts";
import { SERVER } from "../stage/in-cluster.ts";
import { inject, refuseToken } from "./inject.ts";
import type { Happening, VmHappening } from "./moment.ts";
import { begin, giveUp } from "./under-way.ts";
import { RETIRED_TAINT } from "./descheduler-policy.ts";
import { persist } from "./persist.ts";
import { operate } from "./operator.ts";
import { PREEMPTOR } from "./scene.ts";
import type { Stage } from "./stage.ts";
import { actAsTenant } from "./tenant.ts";
import { until } from "./until.ts";

const DRAIN_TAINT = { key: "kubevirt.io/drain", value: "draining", effect: "NoSchedule" };
const MAINTENANCE = { key: "maintenance", value: "now", effect: "NoExecute" };
/** Longer than any run: what is let go when its node ends was not kept. */
const NODE_ENDS_AFTER_MS = 3_600_000;
const LITTLE_MEMORY = "1Gi";
const FEW_PROCESSES = "500";
/** Resolves to whether anything is another than before; what is refused may also throw. */
export async function happen(happening: Happening, stage: Stage): Promise<boolean> {
  const { arena, scene, crew, drain } = stage;
  const { sandbox } = arena;
  switch (happening.does) {
    case "inject":
      inject(happening, stage);
      return true;
    case "suspend API server":
      await suspend(happening.ms, stage);
      return true;
    case "refuse token":
      await refuseToken(happening.ms, stage);
      return true;
    case "close idle connections":
      arena.closeIdleAfter(happening.ms);
      return true;
    case "renew token":
      return await arena.renewToken();
    case "take Lease": {
      const body = { spec: { holderIdentity: happening.holder } };
      await sandbox.client.patch(leases, SERVER, { type: "merge", body });
      return true;
    }
    case "compact":
      simulatedIn(arena).apiServer.compact();
      return true;
    case "silence Lifeboat":
      crew.silence(happening.ms);
      return true;
    case "switch evacuation controller":
      return turn(simulatedIn(arena).evacuationController, happening.on);
    case "switch budget deletion":
      return turn(simulatedIn(arena).budgetDeletion, happening.on);
    case "switch annotations":
      return turn(simulatedIn(arena).deschedulerAnnotations, happening.on);
    case "migrate":
    case "send away":
    case "update workload":
    case "back up":
    case "delete":
    case "withdraw":
    case "evacuate":
    case "unmark":
    case "mark late":
    case "delete evacuations":
    case "forge":
    case "flood":
    case "reach out":
      return await happenToVm(happening, stage);
    case "break off drain":
      return drain.breakOff(happening.ms);
    case "drain taint":
      return await setTaints(stage, scene.nodeOf.Drained, [DRAIN_TAINT]);
    case "retire":
      return await setTaints(stage, scene.nodeOf.Retired, [RETIRED_TAINT]);
    case "taint":
      return await setTaints(stage, scene.nodeOf.Tainted, [MAINTENANCE]);
    case "taint for a while":
      return await taintForAWhile(happening.ms, stage);
    case "preempt":
      await persist(() => createPod(sandbox.client, { ...PREEMPTOR, ...preemptorsPlace(stage) }));
      return true;
    case "terminate":
      terminate(stage);
      return true;
    case "press":
      sandbox.stats.setAvailable(scene.nodeOf.Pressed, "memory.available", LITTLE_MEMORY);
      return true;
    case "squeeze":
      squeeze(stage, FEW_PROCESSES);
      return true;
  }
}

/** Absent: as many as at first. */
function squeeze({ arena, scene }: Stage, processes?: string): void {
  for (const node of [scene.nodeOf.Covered, scene.nodeOf.Exposed])
    arena.sandbox.stats.setAvailable(node, "pid.available", processes);
}

function turn(position: { enabled: boolean }, on: boolean): boolean {
  const before = position.enabled;
  position.enabled = on;
  return before !== on;
}

function preemptorsPlace({ scene }: Stage) {
  return { namespace: scene.namespace, nodeSelector: { "kubernetes.io/hostname": scene.nodeOf.Preempted } };
}

async function suspend(ms: number, { arena }: Stage): Promise<void> {
  await arena.sandbox.apiServer.suspend();
  await delay(ms);
  await arena.sandbox.apiServer.resume();
}

/** As often as the strategic merge of taints needs: the key decides. */
async function setTaints({ arena }: Stage, node: string, taints: readonly object[]): Promise<true> {
  await persist(() => arena.sandbox.client.patch(nodes, { name: node }, { type: "merge", body: { spec: { taints } } }));
  return true;
}

function terminate({ arena, scene, terminations }: Stage): void {
  const client = arena.sandbox.client.as(USERS.karpenter.user, USERS.karpenter.groups);
  const endsAt = new Date(Date.now() + NODE_ENDS_AFTER_MS);
  terminations.add(terminateNode({ client, clock: systemClock, node: scene.nodeOf.Ending, endsAt }));
}

async function taintForAWhile(ms: number, stage: Stage): Promise<true> {
  const node = stage.scene.nodeOf.Unsettled;
  await setTaints(stage, node, [MAINTENANCE]);
  await delay(ms);
  return await setTaints(stage, node, []);
}

/** What cannot be done any more is not done: the VM may be gone, or be migrating already. */
async function happenToVm({ does, vm }: VmHappening, stage: Stage): Promise<boolean> {
  const { arena, scene, deleted } = stage;
  const { client } = arena.sandbox;
  const key = { namespace: scene.namespace, name: vm };
  switch (does) {
    case "migrate":
    case "send away":
    case "update workload":
    case "back up":
      await begin(does, key, client);
      return true;
    case "delete":
      deleted.add(`${key.namespace}/${vm}`);
      await persist(() => client.delete(virtualMachineInstances, key));
      return true;
    case "withdraw":
    case "evacuate":
    case "unmark":
    case "mark late":
    case "delete evacuations":
      return await operate(does, key, stage);
    case "forge":
    case "flood":
    case "reach out":
      return await actAsTenant(does, key, stage);
  }
}

/** Everything is as it was, except for what has become of the VMs. */
export async function calmDown(stage: Stage): Promise<void> {
  const { arena, crew, plan, scene } = stage;
  const { sandbox } = arena;
  if (isSimulated(sandbox)) {
    sandbox.apiServer.faults.clear();
    sandbox.evacuationController.enabled = !plan.faults.includes("ControllerOff");
    sandbox.budgetDeletion.enabled = true;
  }
  arena.closeIdleAfter();
  crew.spare();
  await giveUp(sandbox.client, scene.namespace);
  if (plan.faults.includes("NoExecuteTaint")) await remindOfTaint(stage);
}

const MOST_REMINDERS = 30;
const TAKEN_UP_WITHIN_MS = 1000;

/** Again and again: what the taint manager has not seen go and come, as its watch is not back yet, is no news to it. */
async function remindOfTaint(stage: Stage): Promise<void> {
  for (let times = 0; times < MOST_REMINDERS && isForgotten(stage); times++) {
    await setTaints(stage, stage.scene.nodeOf.Tainted, []);
    await setTaints(stage, stage.scene.nodeOf.Tainted, [MAINTENANCE]);
    await until(() => !isForgotten(stage), TAKEN_UP_WITHIN_MS);
  }
}

/**
 * The taint manager tries five times within a moment: with an API server that is away, or that closes its connections, Lifeboat never
 * hears of it, and it does not come back.
 */
function isForgotten({ arena, scene }: Stage): boolean {
  const evacuations = [...arena.observer.evacuations.list()];
  return [...arena.observer.vmis.list()].some(({ metadata: { name, namespace, deletionTimestamp }, status }) => {
    const isThere = status?.nodeName === scene.nodeOf.Tainted && deletionTimestamp === undefined && !isFinal(status);
    const isAsked = evacuations.some(
      ({ metadata, spec }) => metadata.namespace === namespace && spec.virtualMachineInstance.name === name,
    );
    return isThere && !isAsked;
  });
}

/** The request to move a VM is withdrawn. */
export async function endDisruptions(stage: Stage): Promise<void> {
  const { arena, scene, plan } = stage;
  const { client, stats } = arena.sandbox;
  await stage.drain.stop();
  for (const termination of stage.terminations) await termination.stop();
  if (plan.faults.includes("DrainTaint")) await setTaints(stage, scene.nodeOf.Drained, []);
  if (plan.faults.includes("NoExecuteTaint")) await setTaints(stage, scene.nodeOf.Tainted, []);
  if (plan.faults.includes("NoExecuteTaintComesAndGoes")) await setTaints(stage, scene.nodeOf.Unsettled, []);
  if (plan.faults.includes("Descheduling")) await setTaints(stage, scene.nodeOf.Retired, []);
  if (plan.faults.includes("SoftEviction")) squeeze(stage);
  if (plan.faults.includes("MemoryPressure")) stats.setAvailable(scene.nodeOf.Pressed, "memory.available");
  if (plan.faults.includes("Preemption"))
    await persist(() => client.delete(pods, { namespace: scene.namespace, name: PREEMPTOR.name }));
}
