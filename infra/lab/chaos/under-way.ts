/** What is under way with a VM when it has to leave: a user's migration, here or to another cluster, an update, a backup. */
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { isNotFound } from "../../sandbox/actors/status-error.ts";
import { USERS } from "../../sandbox/identities.ts";
import { ANNOTATION, isFinal, migrations, virtualMachineInstances } from "../../sandbox/kubevirt/resources.ts";
import { persist } from "./persist.ts";

interface Key {
  readonly namespace: string;
  readonly name: string;
}

function asVirtController(client: KubeClient): KubeClient {
  return client.as(USERS.virtController.user, USERS.virtController.groups);
}

/** Nothing answers there. */
const ELSEWHERE = "10.0.0.1:9185";

export async function begin(
  does: "migrate" | "send away" | "update workload" | "back up",
  key: Key,
  client: KubeClient,
): Promise<void> {
  const { namespace, name: vmiName } = key;
  switch (does) {
    case "migrate": {
      const metadata = { generateName: "kubevirt-migrate-vm-", namespace };
      await client.create(migrations, { metadata, spec: { vmiName } });
      return;
    }
    case "send away": {
      const sendTo = { migrationID: vmiName, connectURL: ELSEWHERE };
      await client.create(migrations, { metadata: { generateName: "send-", namespace }, spec: { vmiName, sendTo } });
      return;
    }
    case "update workload": {
      const annotations = { [ANNOTATION.workloadUpdateMigration]: "" };
      const metadata = { generateName: "kubevirt-workload-update-", namespace, annotations };
      await asVirtController(client).create(migrations, { metadata, spec: { vmiName, priority: "system-critical" } });
      return;
    }
    case "back up":
      await setBackup(client, key, { backupName: "nightly", completed: false });
  }
}

async function setBackup(client: KubeClient, key: Key, backupStatus: object): Promise<void> {
  // A full backup: where changed blocks are tracked, a VM that migrates has a volume for that.
  const body = { status: { changedBlockTracking: { state: "Disabled", backupStatus } } };
  await asVirtController(client).patch(virtualMachineInstances, key, { type: "merge", body });
}

/** Users give up what they have sent away, and backups end. */
export async function giveUp(client: KubeClient, namespace: string): Promise<void> {
  const [all, vmis] = await Promise.all([
    persist(() => client.list(migrations, namespace)),
    persist(() => client.list(virtualMachineInstances, namespace)),
  ]);
  for (const { metadata } of all.items.filter(({ spec, status }) => spec.sendTo !== undefined && !isFinal(status)))
    await unlessGone(() => client.delete(migrations, metadata));
  // virt-controller writes no field that is false, and may have written this one since.
  const backedUp = vmis.items.filter(({ status }) => {
    const backup = status?.changedBlockTracking?.backupStatus;
    return backup !== undefined && backup.completed !== true;
  });
  for (const { metadata } of backedUp)
    await unlessGone(() => setBackup(client, { namespace, name: metadata.name }, { completed: true }));
}

async function unlessGone(work: () => Promise<unknown>): Promise<void> {
  await persist(work).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
