/** virt-controller's VMI controller. It creates launcher pods, and updates a VMI until virt-handler owns it. */
import { isDeepStrictEqual } from "node:util";
import type { ActorOptions } from "../../actors/actor.ts";
import { timestamp } from "../../actors/clock.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { createEventRecorder } from "../../actors/event-recorder.ts";
import { controllerOf, keyOf, pods, type Pod } from "../../actors/resources.ts";
import { isAlreadyExists } from "../../actors/status-error.ts";
import * as kubevirt from "../resources.ts";
import { launcherPod } from "./launcher-pod.ts";
import { patchVmi } from "./vmi-patch.ts";
import { isWaiting, stateOf } from "./vmi-status.ts";
import { currentPod, isActive, type World } from "./world.ts";

const PATIENCE_MS = 1_000;

type Vmi = kubevirt.VirtualMachineInstance;

export function startVmiController(options: ActorOptions, world: World): Controller {
  const { client, clock } = options;
  const recorder = createEventRecorder(client, clock, "virtualmachine-controller");
  const lostSince = new Map<string, number>();

  const reconcile = async (key: string): Promise<Result> => {
    await world.synced;
    const vmi = world.vmis.get(key);
    if (vmi === undefined) return undefined;
    const launchers = world.podsOf(vmi);
    if (vmi.metadata.deletionTimestamp !== undefined) return finish(vmi, launchers);
    const pod = currentPod(vmi, launchers);
    const patience = patienceWith(vmi, pod);
    if (patience > 0) return { requeueAfterMs: patience };
    // If the VMI receives a guest from another VMI, the migration controller creates the pod.
    if (pod === undefined && isWaiting(vmi) && !kubevirt.isReceiver(vmi)) await createPod(vmi);
    else await sync(vmi, pod, launchers);
  };

  /**
   * Returns how many more milliseconds virt-controller waits for virt-handler's report about the guest. If no report
   * comes, virt-controller treats the guest as lost.
   */
  const patienceWith = (vmi: Vmi, pod: Pod | undefined): number => {
    const { uid } = vmi.metadata;
    const isRunning = vmi.status?.phase === "Running";
    if (!isRunning || (pod !== undefined && isActive(pod))) {
      lostSince.delete(uid);
      return 0;
    }
    const now = clock.now().getTime();
    const since = lostSince.get(uid) ?? now;
    lostSince.set(uid, since);
    return since + PATIENCE_MS - now;
  };

  const createPod = async (vmi: Vmi) => {
    const draft = launcherPod(vmi);
    try {
      await client.create(pods, draft);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      return;
    }
    const message = `Created virtual machine pod ${draft.metadata.name}`;
    const created = { type: "Normal", reason: "SuccessfulCreate", message } as const;
    await recorder.record(vmi, kubevirt.virtualMachineInstances, created);
  };

  const sync = async (vmi: Vmi, pod: Pod | undefined, launchers: readonly Pod[]) => {
    const next = stateOf(vmi, pod, launchers, timestamp(clock));
    // virt-handler owns the VMI from the phase Scheduled.
    if (["Scheduled", "Running"].includes(vmi.status?.phase ?? "")) return patchVmi(client, vmi, next);
    if (!isDeepStrictEqual(vmi, next)) await client.update(kubevirt.virtualMachineInstances, next);
  };

  const finish = async (vmi: Vmi, launchers: readonly Pod[]): Promise<Result> => {
    for (const { metadata } of launchers)
      if (metadata.deletionTimestamp === undefined)
        await client.delete(pods, metadata, { preconditions: { uid: metadata.uid } });
    const { finalizers = [] } = vmi.metadata;
    if (launchers.length > 0 || !finalizers.includes(kubevirt.FINALIZER.vmi)) return undefined;
    const rest = finalizers.filter((finalizer) => finalizer !== kubevirt.FINALIZER.vmi);
    await client.update(kubevirt.virtualMachineInstances, { ...vmi, metadata: { ...vmi.metadata, finalizers: rest } });
  };

  const controller = startController({ name: "vmi", reconcile, ...options });
  controller.watch(world.vmis, (vmi) => [keyOf(vmi)]);
  controller.watch(world.launchers, (pod) => [`${pod.metadata.namespace}/${controllerOf(pod)?.name}`]);
  return controller;
}
