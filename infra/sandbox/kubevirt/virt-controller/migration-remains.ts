/** Cleans up after a finished migration, as virt-controller does. */
import { isDeepStrictEqual } from "node:util";
import type { ActorOptions } from "../../actors/actor.ts";
import type { KubeClient } from "../../actors/client.ts";
import { timestamp } from "../../actors/clock.ts";
import { keyOf, pods } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";
import { patchVmi } from "./vmi-patch.ts";
import { newestFirst, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

const KEPT = 5;

/** Performs one step of the cleanup. The next reconcile performs the next step. */
export async function clearAway(options: ActorOptions, world: World, migration: Migration, vmi: Vmi): Promise<void> {
  const { client } = options;
  const now = timestamp(options.clock);
  const { migrationState: state } = vmi.status ?? {};
  const isOurs = state?.migrationUid === migration.metadata.uid;
  if (isOurs && migration.status?.phase === "Failed" && state.completed !== true) {
    // The migration failed before virt-handler handled it. virt-handler would never complete the migration state, so
    // virt-controller completes it.
    const unless = { startTimestamp: now, endTimestamp: now, failureReason: "Target pod is down" };
    const migrationState = { ...unless, ...state, completed: true, failed: true };
    return patchVmi(client, vmi, { ...vmi, status: { ...vmi.status, migrationState } });
  }
  if (isOurs && !isDeepStrictEqual(migration.status?.migrationState, state)) {
    const status = { ...migration.status, migrationState: state };
    await client.update(kubevirt.migrations, { ...migration, status }, { subresource: "status" });
    return;
  }
  await release(client, migration);
  await forgetOld(client, world.migrationsOf(keyOf(vmi)));
}

async function release(client: KubeClient, migration: Migration): Promise<void> {
  const { finalizers = [] } = migration.metadata;
  if (!finalizers.includes(kubevirt.FINALIZER.migration)) return;
  const rest = finalizers.filter((finalizer) => finalizer !== kubevirt.FINALIZER.migration);
  await client.update(kubevirt.migrations, { ...migration, metadata: { ...migration.metadata, finalizers: rest } });
}

/**
 * Deletes the VMI's finished migrations except the five newest. For each deleted migration, also deletes the pod that
 * has no guest: the target pod after a failure, and the source pod after a success.
 */
async function forgetOld(client: KubeClient, all: readonly Migration[]): Promise<void> {
  const finished = all
    .filter(({ status, metadata }) => kubevirt.isFinal(status) && metadata.deletionTimestamp === undefined)
    .toSorted(newestFirst);
  for (const { metadata, status } of finished.slice(KEPT)) {
    const { failed, completed, sourcePod, targetPod } = status?.migrationState ?? {};
    const defunct = failed === true ? targetPod : completed === true ? sourcePod : undefined;
    if (defunct !== undefined) await client.delete(pods, { namespace: metadata.namespace, name: defunct });
    await client.delete(kubevirt.migrations, metadata, { preconditions: { uid: metadata.uid } });
  }
}
