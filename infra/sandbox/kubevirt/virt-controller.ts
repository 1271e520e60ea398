/** virt-controller: all of KubeVirt's controllers, with one service account. */
import { actorOf, type Actor, type ActorOptions } from "../actors/actor.ts";
import type { MigrationPlan } from "./migration-plan.ts";
import type { Switches } from "./switch.ts";
import { startBudgetController } from "./virt-controller/budgets.ts";
import { startEvacuationController } from "./virt-controller/evacuation.ts";
import { startDeschedulerAnnotations } from "./virt-controller/descheduler-annotations.ts";
import { startMigrationController } from "./virt-controller/migration.ts";
import { startVmController } from "./virt-controller/vm.ts";
import { startVmiController } from "./virt-controller/vmi.ts";
import { startWorld } from "./virt-controller/world.ts";

export interface VirtControllerOptions extends ActorOptions, Switches {
  readonly plan: MigrationPlan;
}

export function startVirtController(options: VirtControllerOptions): Actor {
  const world = startWorld(options);
  const controllers = [
    startVmController(options, world),
    startVmiController(options, world),
    startMigrationController(options, world, options.plan),
    startEvacuationController(options, world, options.evacuationController),
    startBudgetController(options, world),
    startDeschedulerAnnotations(options, world, options.deschedulerAnnotations),
  ];
  // Stops the caches first. A controller that waits for a cache would otherwise never stop.
  return actorOf([world], controllers);
}
