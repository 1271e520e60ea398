/**
 * What virt-controller does about a migration that is over.
 * Owns: telling the VMI, keeping its state, letting go of it; of a VMI's finished ones only the five newest stay.
 * Does not own: when it is over (migration-phases.ts).
 */
import type { KubeClient } from "../../actors/client.ts";
import { keyOf, pods } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";
import { isSame } from "../same.ts";
import { patchVmi } from "./vmi-patch.ts";
import { newestFirst, type World } from "./world.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export interface Tools {
  readonly client: KubeClient;
  readonly world: World;
  readonly now: string;
}

const KEPT = 5;

export async function clearAway(tools: Tools, migration: Migration, vmi: Vmi): Promise<void> {
  const { migrationState: state } = vmi.status ?? {};
  const isOurs = state?.migrationUid === migration.metadata.uid;
  if (isOurs && migration.status?.phase === "Failed" && state.completed !== true) return markFailed(tools, vmi, state);
  if (isOurs && !isSame(migration.status?.migrationState, state)) return keepState(tools, migration, state);
  await release(tools, migration);
  await forgetOld(tools, keyOf(vmi));
}

/** A migration that failed before its source knew of it leaves a state that nothing else would end. */
async function markFailed({ client, now }: Tools, vmi: Vmi, state: kubevirt.MigrationState): Promise<void> {
  const unless = { startTimestamp: now, endTimestamp: now, failureReason: "Target pod is down" };
  const migrationState = { ...unless, ...state, completed: true, failed: true };
  await patchVmi(client, vmi, { ...vmi, status: { ...vmi.status, migrationState } });
}

async function keepState({ client }: Tools, migration: Migration, migrationState: kubevirt.MigrationState) {
  const status = { ...migration.status, migrationState };
  await client.update(kubevirt.migrations, { ...migration, status }, { subresource: "status" });
}

async function release({ client }: Tools, migration: Migration): Promise<void> {
  const { finalizers = [] } = migration.metadata;
  if (!finalizers.includes(kubevirt.FINALIZER.migration)) return;
  const rest = finalizers.filter((finalizer) => finalizer !== kubevirt.FINALIZER.migration);
  await client.update(kubevirt.migrations, { ...migration, metadata: { ...migration.metadata, finalizers: rest } });
}

/** Its defunct launcher goes with it. */
async function forgetOld({ client, world }: Tools, vmiKey: string): Promise<void> {
  const finished = world
    .migrationsOf(vmiKey)
    .filter(({ status, metadata }) => kubevirt.isFinal(status) && metadata.deletionTimestamp === undefined)
    .toSorted(newestFirst);
  for (const { metadata, status } of finished.slice(KEPT)) {
    const { failed, completed, sourcePod, targetPod } = status?.migrationState ?? {};
    const defunct = failed === true ? targetPod : completed === true ? sourcePod : undefined;
    if (defunct !== undefined) await client.delete(pods, { namespace: metadata.namespace, name: defunct });
    await client.delete(kubevirt.migrations, metadata, { preconditions: { uid: metadata.uid } });
  }
}
