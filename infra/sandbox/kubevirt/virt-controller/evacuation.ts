/** virt-controller's evacuation controller. It creates migrations for VMIs that must leave their nodes. */
import type { ActorOptions } from "../../actors/actor.ts";
import { isTrue } from "../../actors/conditions.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { createEventRecorder } from "../../actors/event-recorder.ts";
import { keyOf, type Node } from "../../actors/resources.ts";
import { messageOf } from "../../actors/status-error.ts";
import * as kubevirt from "../resources.ts";
import type { Switch } from "../switch.ts";
import { createExpectations } from "./expectations.ts";
import { isActive, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;

/** The delay in milliseconds before the migration is created, as in a real virt-controller. */
const REACTION_MS = 150;
const DEFAULT_DRAIN_TAINT = "kubevirt.io/drain";

export function startEvacuationController(options: ActorOptions, world: World, toggle: Switch): Controller {
  const { client, clock } = options;
  const recorder = createEventRecorder(client, clock, "evacuation-controller");
  const created = createExpectations(clock);

  const reconcile = async (nodeName: string): Promise<Result> => {
    await world.synced;
    const node = world.nodes.get(nodeName);
    if (!toggle.enabled || node === undefined || !created.isMet(nodeName)) return undefined;
    const drained = isDrained(node, world.configuration().migrations?.nodeDrainTaintKey ?? DEFAULT_DRAIN_TAINT);
    const leaving = world.vmisOn(nodeName).filter((vmi) => (drained || isMarked(vmi)) && mayMigrate(vmi));
    created.expect(nodeName, leaving.length);
    // Creates all migrations at once. The migration controller applies KubeVirt's limits.
    const done = await Promise.allSettled(leaving.map((vmi) => evacuate(vmi, nodeName)));
    for (const one of done) if (one.status === "rejected") throw one.reason;
  };

  const mayMigrate = (vmi: Vmi): boolean => {
    const strategy = world.strategyOf(vmi);
    const wanted = strategy === "LiveMigrate" || strategy === "LiveMigrateIfPossible";
    const alive = !kubevirt.isFinal(vmi.status) && vmi.metadata.deletionTimestamp === undefined;
    const unfinished = world.migrationsOf(keyOf(vmi)).some(({ status }) => !kubevirt.isFinal(status));
    const single = world.podsOf(vmi).filter(isActive).length <= 1;
    const migratable = isTrue(vmi.status?.conditions, "LiveMigratable");
    return wanted && alive && migratable && single && !unfinished;
  };

  const evacuate = async (vmi: Vmi, nodeName: string) => {
    const { name, namespace = "", annotations } = vmi.metadata;
    const byDescheduler = annotations?.[kubevirt.ANNOTATION.evictionSource] === "descheduler";
    const metadata = {
      generateName: "kubevirt-evacuation-",
      namespace,
      annotations: { [kubevirt.ANNOTATION.evacuationMigration]: nodeName },
    };
    const spec = { vmiName: name, priority: byDescheduler ? "system-maintenance" : "system-critical" };
    try {
      const migration = await client.create(kubevirt.migrations, { metadata, spec });
      await tell(vmi, "Normal", "SuccessfulCreate", `Created Migration ${migration.metadata.name}`);
    } catch (error) {
      created.observe(nodeName);
      await tell(vmi, "Warning", "FailedCreate", `Error creating a Migration: ${messageOf(error)}`);
      throw error;
    }
  };

  const tell = (vmi: Vmi, type: "Normal" | "Warning", reason: string, message: string) =>
    recorder.record(vmi, kubevirt.virtualMachineInstances, { type, reason, message });

  const controller = startController({ name: "evacuation", reconcile, ...options });
  const enqueueNode = (nodeName: string | undefined) => {
    if (nodeName !== undefined) controller.enqueue(nodeName, REACTION_MS);
  };
  world.vmis.onChange((vmi) => enqueueNode(vmi?.status?.nodeName));
  world.migrations.onChange((migration, previous) => {
    const { metadata, spec } = (migration ?? previous) as kubevirt.VirtualMachineInstanceMigration;
    enqueueNode(world.vmis.get(`${metadata.namespace}/${spec.vmiName}`)?.status?.nodeName);
    // `created` counts the created migrations that are not yet in the cache. As in KubeVirt, an evacuation migration
    // from any client lowers this count.
    const evacuated = metadata.annotations?.[kubevirt.ANNOTATION.evacuationMigration];
    if (previous === undefined && evacuated !== undefined) created.observe(evacuated);
  });
  controller.watch(world.nodes, (node) => [keyOf(node)]);
  toggle.onChange(() => {
    for (const node of world.nodes.list()) controller.enqueue(keyOf(node), REACTION_MS);
  });
  return controller;
}

function isMarked({ status }: Vmi): boolean {
  const { migrationState } = status ?? {};
  const migrating = migrationState?.startTimestamp !== undefined && migrationState.endTimestamp === undefined;
  return status?.evacuationNodeName !== undefined && status.evacuationNodeName === status.nodeName && !migrating;
}

function isDrained({ spec }: Node, taintKey: string): boolean {
  return (spec?.taints ?? []).some(({ key, effect }) => key === taintKey && effect === "NoSchedule");
}
