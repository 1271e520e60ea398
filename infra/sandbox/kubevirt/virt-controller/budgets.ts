/** virt-controller's PodDisruptionBudget controller. Since KubeVirt 1.6 it only deletes old budgets. */
import type { ActorOptions } from "../../actors/actor.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { createEventRecorder } from "../../actors/event-recorder.ts";
import { controllerOf, keyOf, podDisruptionBudgets } from "../../actors/resources.ts";
import { virtualMachineInstances } from "../resources.ts";
import type { World } from "./world.ts";

export function startBudgetController(options: ActorOptions, world: World): Controller {
  const { client, clock } = options;
  const recorder = createEventRecorder(client, clock, "disruptionbudget-controller");

  const reconcile = async (key: string): Promise<Result> => {
    const budget = world.budgets.get(key);
    const owner = budget && controllerOf(budget);
    if (budget === undefined || owner?.kind !== "VirtualMachineInstance") return undefined;
    const { name, namespace, uid, deletionTimestamp } = budget.metadata;
    if (deletionTimestamp !== undefined) return undefined;
    await client.delete(podDisruptionBudgets, { name, namespace }, { preconditions: { uid } });
    const vmi = world.vmis.get(`${namespace}/${owner.name}`);
    if (vmi === undefined) return undefined;
    const message = `Deleted PodDisruptionBudget ${name}`;
    await recorder.record(vmi, virtualMachineInstances, { type: "Normal", reason: "SuccessfulDelete", message });
  };

  const controller = startController({ name: "disruptionbudget", reconcile, ...options });
  controller.watch(world.budgets, (budget) => [keyOf(budget)]);
  return controller;
}
