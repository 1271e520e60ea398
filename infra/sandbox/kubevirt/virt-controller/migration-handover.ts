/** Starts and aborts migrations as virt-controller does, by writing into the VMI's status. Also aborts backups. */
import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../actors/client.ts";
import type { Pod } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";
import { patchVmi } from "./vmi-patch.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export async function handOver(client: KubeClient, vmi: Vmi, migration: Migration, target: Pod): Promise<undefined> {
  const { migrationState: before, nodeName: sourceNode = "" } = vmi.status ?? {};
  const { uid: migrationUid } = migration.metadata;
  if (before?.migrationUid === migrationUid) return;
  const { sourcePod = "" } = migration.status?.migrationState ?? {};
  const { nodeName: targetNode = "" } = target.spec ?? {};
  const migrationState = {
    migrationUid,
    sourceNode,
    sourcePod,
    targetNode,
    targetPod: target.metadata.name,
    ...(await policyOf(client, vmi)),
  };
  const labels = { ...vmi.metadata.labels, [kubevirt.LABEL.migrationTargetNodeName]: targetNode };
  await patchVmi(client, vmi, {
    ...vmi,
    metadata: { ...vmi.metadata, labels },
    status: { ...vmi.status, migrationState },
  });
}

/**
 * Returns the MigrationPolicy that matches the most labels of the VMI. If several policies match the same number of
 * labels, returns the first by name. Ignores the labels of namespaces.
 */
async function policyOf(
  client: KubeClient,
  { metadata: { labels = {} } }: Vmi,
): Promise<Pick<kubevirt.MigrationState, "migrationPolicyName">> {
  const { items } = await client.list(kubevirt.migrationPolicies);
  const matching = items.flatMap(({ metadata: { name }, spec }) => {
    const selected = Object.entries(spec.selectors.virtualMachineInstanceSelector ?? {});
    const isMatch = selected.length > 0 && selected.every(([key, value]) => labels[key] === value);
    return isMatch ? [{ name, score: selected.length }] : [];
  });
  const [best] = matching.toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));
  return best === undefined ? {} : { migrationPolicyName: best.name };
}

/** Starts a migration to another cluster by writing into the VMI's status. An abort does not revert this write. */
export async function synchronize(client: KubeClient, vmi: Vmi, { metadata, spec }: Migration): Promise<undefined> {
  const { migrationState: before } = vmi.status ?? {};
  const sourceState = { migrationUID: metadata.uid, virtualMachineInstanceUID: vmi.metadata.uid };
  if (isDeepStrictEqual(before?.sourceState, sourceState)) return;
  const targetState = { syncAddress: spec.sendTo?.connectURL };
  const kept = before === undefined || before.completed === true ? {} : before;
  await patchVmi(client, vmi, {
    ...vmi,
    status: { ...vmi.status, migrationState: { ...kept, sourceState, targetState } },
  });
}

export async function requestAbort(client: KubeClient, vmi: Vmi, migration: Migration): Promise<void> {
  const { migrationState } = vmi.status ?? {};
  if (migrationState?.migrationUid !== migration.metadata.uid || migrationState.abortRequested === true) return;
  const status = { ...vmi.status, migrationState: { ...migrationState, abortRequested: true } };
  await patchVmi(client, vmi, { ...vmi, status });
}

/** Aborts a backup at once. In a real cluster, the backup ends moments after the request. */
export async function abortBackup(client: KubeClient, vmi: Vmi, now: string): Promise<void> {
  const { changedBlockTracking: { state, backupStatus } = { state: "" } } = vmi.status ?? {};
  const aborted = { ...backupStatus, endTimestamp: now, completed: true, failed: true, backupMsg: "backup aborted" };
  await patchVmi(client, vmi, {
    ...vmi,
    status: { ...vmi.status, changedBlockTracking: { state, backupStatus: aborted } },
  });
}
