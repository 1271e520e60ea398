/** virt-controller's migration controller. */
import { isDeepStrictEqual } from "node:util";
import type { ActorOptions } from "../../actors/actor.ts";
import { timestamp } from "../../actors/clock.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { createEventRecorder } from "../../actors/event-recorder.ts";
import { controllerOf, keyOf, pods, type Pod } from "../../actors/resources.ts";
import { isAlreadyExists, isOverQuota, messageOf } from "../../actors/status-error.ts";
import type { MigrationPlan } from "../migration-plan.ts";
import { enterPhase } from "../phases.ts";
import * as kubevirt from "../resources.ts";
import { createExpectations } from "./expectations.ts";
import { isTargetOf, targetPod } from "./launcher-pod.ts";
import { abortBackup, handOver, requestAbort, synchronize } from "./migration-handover.ts";
import * as phases from "./migration-phases.ts";
import { nextInLine, turnOf } from "./migration-queue.ts";
import { clearAway } from "./migration-remains.ts";
import { currentPod, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Facts = phases.MigrationFacts;

export function startMigrationController(options: ActorOptions, world: World, plan: MigrationPlan): Controller {
  const { client, clock } = options;
  const recorder = createEventRecorder(client, clock, "migration-controller");
  const created = createExpectations(clock);

  const reconcile = async (key: string): Promise<Result> => {
    await world.synced;
    const migration = world.migrations.get(key);
    if (migration === undefined) return undefined;
    const { metadata, spec, status } = migration;
    const vmi = world.vmis.get(`${metadata.namespace}/${spec.vmiName}`);
    if (vmi === undefined) {
      // KubeVirt deletes a migration whose VMI does not exist. It then ignores the migration, even if finalizers
      // remain.
      if (metadata.deletionTimestamp === undefined) await client.delete(kubevirt.migrations, metadata);
      return undefined;
    }
    if (kubevirt.isFinal(status)) {
      await clearAway(options, world, migration, vmi);
      for (const next of nextInLine(world)) controller.enqueue(keyOf(next));
      return undefined;
    }
    const facts = { migration, vmi, target: world.podsOf(vmi).find((pod) => isTargetOf(pod, migration)) };
    try {
      const result = await act(facts);
      await report(facts);
      return result;
    } catch (error) {
      if (isOverQuota(error)) await report({ ...facts, overQuota: true });
      throw error;
    }
  };

  const act = async (facts: Facts): Promise<Result> => {
    const { migration, vmi, target } = facts;
    if (vmi.metadata.deletionTimestamp !== undefined) return undefined;
    if (phases.isCancelled(facts)) return cancel(facts);
    switch (migration.status?.phase ?? "") {
      case "Pending":
        return pend(facts);
      case "Scheduling":
        return target && wait(target);
      case "Synchronizing":
        return synchronize(client, vmi, migration);
      case "Scheduled":
        return phases.isReady(target) ? handOver(client, vmi, migration, target) : undefined;
      default:
        return undefined;
    }
  };

  const pend = async (facts: Facts): Promise<Result> => {
    if (phases.endsBackup(facts)) await abortBackup(client, facts.vmi, timestamp(clock));
    return facts.target === undefined ? start(facts) : wait(facts.target);
  };

  const cancel = async (facts: Facts): Promise<Result> => {
    const { migration, vmi, target } = facts;
    if (phases.stateFor(facts) === undefined) return target && remove(target);
    if (migration.status?.phase === "Running") await requestAbort(client, vmi, migration);
  };

  const start = async ({ migration, vmi }: Facts): Promise<Result> => {
    const turn = turnOf(migration, vmi, { world, created, backoffMs: plan.backoffSeconds() * 1000, now: clock.now() });
    if (turn.turn === "Later") {
      const { reason, afterMs } = turn;
      if (reason !== undefined) await tell(vmi, "Warning", reason, `backoff migrating vmi ${keyOf(vmi)}`);
      return afterMs === undefined ? undefined : { requeueAfterMs: afterMs };
    }
    created.expect(migration.metadata.uid, 1);
    try {
      const source = { pod: currentPod(vmi, world.podsOf(vmi)), node: world.nodes.get(vmi.status?.nodeName ?? "") };
      const { metadata } = await client.create(pods, targetPod(vmi, migration, source));
      await tell(vmi, "Normal", "SuccessfulCreate", `Created migration target pod ${metadata.name}`);
    } catch (error) {
      created.observe(migration.metadata.uid);
      if (isAlreadyExists(error)) return undefined;
      await tell(vmi, "Warning", "FailedCreate", `Error creating pod: ${messageOf(error)}`);
      throw error;
    }
  };

  /** Deletes a target pod that has been Pending for too long. Its migration then fails. */
  const wait = async (target: Pod): Promise<Result> => {
    const left = phases.patienceWith(target, clock.now());
    if (left === undefined) return undefined;
    return left > 0 ? { requeueAfterMs: left } : remove(target);
  };

  const remove = async ({ metadata }: Pod): Promise<Result> => {
    if (metadata.deletionTimestamp === undefined)
      await client.delete(pods, metadata, { preconditions: { uid: metadata.uid } });
  };

  const report = async (facts: Facts) => {
    const { migration, vmi } = facts;
    const now = timestamp(clock);
    const conditions = phases.conditionsOf(facts, now);
    const { conditions: _, ...before } = migration.status ?? {};
    const next = conditions.length > 0 ? { ...before, conditions } : before;
    const status = enterPhase<NonNullable<typeof migration.status>>(next, phases.nextPhase(facts), now);
    const source = currentPod(vmi, world.podsOf(vmi));
    if (status.phase === "Pending" && source !== undefined)
      status.migrationState = { ...status.migrationState, sourcePod: source.metadata.name };
    if (isDeepStrictEqual(migration.status, status)) return;
    await client.update(kubevirt.migrations, { ...migration, status }, { subresource: "status" });
  };

  const tell = (vmi: Vmi, type: "Normal" | "Warning", reason: string, message: string) =>
    recorder.record(vmi, kubevirt.virtualMachineInstances, { type, reason, message });

  const controller = startController({ name: "migration", reconcile, ...options });
  const ofVmi = (vmiKey: string) => world.migrationsOf(vmiKey).map(keyOf);
  controller.watch(world.migrations, (migration) => [keyOf(migration)]);
  controller.watch(world.vmis, (vmi) => ofVmi(keyOf(vmi)));
  world.launchers.onChange((pod, previous) => {
    if (previous === undefined) created.observe(pod?.metadata.labels?.[kubevirt.LABEL.migrationJobUID] ?? "");
  });
  controller.watch(world.launchers, (pod) => ofVmi(`${pod.metadata.namespace}/${controllerOf(pod)?.name}`));
  return controller;
}
