/**
 * virt-controller's migration controller: takes a migration through KubeVirt's phases.
 * Owns: the migration's status, its target pod, its finalizer, forgetting all but the five newest.
 * Does not own: whose turn it is (migration-queue.ts), moving the guest (virt-handler/).
 */
import type { ActorOptions } from "../../actors/actor.ts";
import { timestamp } from "../../actors/clock.ts";
import { withCondition } from "../../actors/conditions.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { createEventRecorder } from "../../actors/event-recorder.ts";
import { controllerOf, keyOf, pods, type Pod } from "../../actors/resources.ts";
import { isAlreadyExists } from "../../actors/status-error.ts";
import type { MigrationPlan } from "../migration-plan.ts";
import { enterPhase } from "../phases.ts";
import * as kubevirt from "../resources.ts";
import { isSame } from "../same.ts";
import { isTargetOf, targetPod } from "./launcher-pod.ts";
import { handOver, requestAbort } from "./migration-handover.ts";
import { nextPhase } from "./migration-phases.ts";
import { turnOf } from "./migration-queue.ts";
import { currentPod, isActive, newestFirst, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

const KEPT = 5;
const LOOK_AGAIN_MS = 60_000;

export function startMigrationController(options: ActorOptions, world: World, plan: MigrationPlan): Controller {
  const { client, clock } = options;
  const recorder = createEventRecorder(client, clock, "migration-controller");
  const starting = new Set<string>();

  const reconcile = async (key: string): Promise<Result> => {
    await world.synced;
    const migration = world.migrations.get(key);
    if (migration === undefined) return undefined;
    const vmi = world.vmis.get(`${migration.metadata.namespace}/${migration.spec.vmiName}`);
    const target = vmi && world.podsOf(vmi).find((pod) => isTargetOf(pod, migration));
    if (target !== undefined) starting.delete(migration.metadata.uid);
    if (kubevirt.isFinal(migration.status)) return finish(migration, vmi, target);
    const phase = nextPhase({ migration, vmi, target, now: clock.now() });
    await report(migration, vmi, phase);
    return kubevirt.isFinal({ phase }) || vmi === undefined ? undefined : act(migration, vmi, target);
  };

  /** What the phase the migration is in asks for; the next look will see what came of it. */
  const act = async (migration: Migration, vmi: Vmi, target: Pod | undefined): Promise<Result> => {
    const aborted = migration.metadata.deletionTimestamp !== undefined;
    const phase = migration.status?.phase ?? "";
    if (aborted) await requestAbort(client, vmi, migration);
    else if (phase === "Pending" && target === undefined) return start(migration, vmi);
    else if (phase === "Scheduled" && target !== undefined)
      await handOver(client, { vmi, migration, target, source: currentPod(vmi, world.podsOf(vmi)) });
    // A target pod that stays unplaced changes nothing: the time it has must be looked at.
    return phase === "Scheduling" ? { requeueAfterMs: LOOK_AGAIN_MS } : undefined;
  };

  const start = async (migration: Migration, vmi: Vmi): Promise<Result> => {
    const turn = turnOf(migration, vmi, { world, starting, backoffMs: plan.backoffSeconds() * 1000, now: clock.now() });
    if (turn.turn === "Later") {
      if (turn.reason !== undefined) await tell(vmi, "Warning", turn.reason, `backoff migrating vmi ${keyOf(vmi)}`);
      return { requeueAfterMs: turn.afterMs };
    }
    const { uid } = migration.metadata;
    starting.add(uid);
    try {
      const created = await client.create(pods, targetPod(vmi, migration));
      await tell(vmi, "Normal", "SuccessfulCreate", `Created migration target pod ${created.metadata.name}`);
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      starting.delete(uid);
      throw error;
    }
    return undefined;
  };

  const report = async (migration: Migration, vmi: Vmi | undefined, phase: string) => {
    const now = timestamp(clock);
    const status = { ...enterPhase(migration.status ?? {}, phase, now) };
    const { migrationState } = vmi?.status ?? {};
    if (migrationState?.migrationUid === migration.metadata.uid) status.migrationState = migrationState;
    if (migration.metadata.deletionTimestamp !== undefined)
      status.conditions = withCondition(status.conditions, { type: "migrationAbortRequested", status: "True" }, now);
    if (isSame(migration.status, status)) return;
    await client.update(kubevirt.migrations, { ...migration, status }, { subresource: "status" });
  };

  const finish = async (migration: Migration, vmi: Vmi | undefined, target: Pod | undefined): Promise<Result> => {
    starting.delete(migration.metadata.uid);
    const failed = migration.status?.phase === "Failed";
    if (failed && target !== undefined && isActive(target) && target.metadata.deletionTimestamp === undefined)
      await client.delete(pods, target.metadata, { preconditions: { uid: target.metadata.uid } });
    if (failed && vmi !== undefined) await abandon(vmi, migration);
    await release(migration);
    await forgetOld(`${migration.metadata.namespace}/${migration.spec.vmiName}`);
    return undefined;
  };

  /** A migration that failed before its source knew of it leaves a state that nobody else would end. */
  const abandon = async (vmi: Vmi, migration: Migration) => {
    const { migrationState } = vmi.status ?? {};
    if (migrationState?.migrationUid !== migration.metadata.uid || migrationState.endTimestamp !== undefined) return;
    const ended = { ...migrationState, endTimestamp: timestamp(clock), completed: true, failed: true };
    await client.update(kubevirt.virtualMachineInstances, { ...vmi, status: { ...vmi.status, migrationState: ended } });
  };

  const release = async (migration: Migration) => {
    const { finalizers = [] } = migration.metadata;
    if (!finalizers.includes(kubevirt.FINALIZER.migration)) return;
    const rest = finalizers.filter((finalizer) => finalizer !== kubevirt.FINALIZER.migration);
    await client.update(kubevirt.migrations, { ...migration, metadata: { ...migration.metadata, finalizers: rest } });
  };

  const forgetOld = async (vmiKey: string) => {
    const finished = world
      .migrationsOf(vmiKey)
      .filter(({ status, metadata }) => kubevirt.isFinal(status) && metadata.deletionTimestamp === undefined)
      .toSorted(newestFirst);
    for (const { metadata } of finished.slice(KEPT))
      await client.delete(kubevirt.migrations, metadata, { preconditions: { uid: metadata.uid } });
  };

  const tell = (vmi: Vmi, type: "Normal" | "Warning", reason: string, message: string) =>
    recorder.record(vmi, kubevirt.virtualMachineInstances, { type, reason, message });

  const controller = startController({ name: "migration", reconcile, ...options });
  const ofVmi = (vmiKey: string) =>
    world
      .migrationsOf(vmiKey)
      .filter(({ status }) => !kubevirt.isFinal(status))
      .map(keyOf);
  controller.watch(world.migrations, (migration) => [keyOf(migration)]);
  controller.watch(world.vmis, (vmi) => ofVmi(keyOf(vmi)));
  controller.watch(world.launchers, (pod) => ofVmi(`${pod.metadata.namespace}/${controllerOf(pod)?.name}`));
  // A migration that ends makes room for those that wait.
  world.migrations.onChange((migration, previous) => {
    if (migration !== undefined && !kubevirt.isFinal(migration.status)) return;
    if (migration !== undefined && kubevirt.isFinal(previous?.status)) return;
    for (const waiting of world.migrations.list())
      if (waiting.status?.phase === "Pending") controller.enqueue(keyOf(waiting));
  });
  return controller;
}
