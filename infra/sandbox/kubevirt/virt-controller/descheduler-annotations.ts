/**
 * Writes virt-controller's annotations on launcher pods. They tell the descheduler that an eviction starts a migration,
 * and that the eviction is in progress.
 */
import type { ActorOptions } from "../../actors/actor.ts";
import { isTrue } from "../../actors/conditions.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { controllerOf, keyOf, pods, type Pod } from "../../actors/resources.ts";
import type { Switch } from "../switch.ts";
import { currentPod, type World } from "./world.ts";

const REQUEST_EVICT_ONLY = "descheduler.alpha.kubernetes.io/request-evict-only";
const EVICTION_IN_PROGRESS = "descheduler.alpha.kubernetes.io/eviction-in-progress";

export function startDeschedulerAnnotations(options: ActorOptions, world: World, toggle: Switch): Controller {
  const { client } = options;

  const reconcile = async (key: string): Promise<Result> => {
    await world.synced;
    const vmi = world.vmis.get(key);
    const pod = vmi && currentPod(vmi, world.podsOf(vmi));
    if (!toggle.enabled || pod === undefined || !isReady(pod)) return undefined;
    const changes = changesOf(pod, vmi?.status?.evacuationNodeName !== undefined);
    if (Object.keys(changes).length === 0) return undefined;
    const { uid } = pod.metadata;
    await client.patch(pods, pod.metadata, { type: "merge", body: { metadata: { uid, annotations: changes } } });
  };

  const controller = startController({ name: "descheduler-annotations", reconcile, ...options });
  controller.watch(world.vmis, (vmi) => [keyOf(vmi)]);
  controller.watch(world.launchers, (pod) => [`${pod.metadata.namespace}/${controllerOf(pod)?.name}`]);
  toggle.onChange(() => {
    for (const vmi of world.vmis.list()) controller.enqueue(keyOf(vmi));
  });
  return controller;
}

function changesOf({ metadata: { annotations = {} } }: Pod, isMarked: boolean): Record<string, string | null> {
  return {
    ...(annotations[REQUEST_EVICT_ONLY] === undefined && { [REQUEST_EVICT_ONLY]: "" }),
    ...(isMarked && annotations[EVICTION_IN_PROGRESS] === undefined && { [EVICTION_IN_PROGRESS]: "true" }),
    ...(!isMarked && annotations[EVICTION_IN_PROGRESS] !== undefined && { [EVICTION_IN_PROGRESS]: null }),
  };
}

function isReady({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && isTrue(status?.conditions, "Ready");
}
