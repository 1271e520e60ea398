/** virt-api's admission of VirtualMachineInstanceMigrations. */
import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../actors/client.ts";
import { findCondition } from "../../actors/conditions.ts";
import * as kubevirt from "../resources.ts";
import { ALLOWED, invalid, patched, refused, VIRT_CONTROLLER, type Admit, type Cause } from "./review.ts";

type Migration = kubevirt.VirtualMachineInstanceMigration;

export const mutateMigration: Admit<Migration> = ({ object }) => {
  const { labels, finalizers = [] } = object.metadata;
  return patched([
    { op: "add", path: "/metadata/labels", value: { ...labels, [kubevirt.LABEL.vmiName]: object.spec.vmiName } },
    { op: "add", path: "/metadata/finalizers", value: [...new Set([...finalizers, kubevirt.FINALIZER.migration])] },
  ]);
};

export function admitMigrationCreate(client: KubeClient): Admit<Migration> {
  return async ({ object, namespace = "", userInfo }) => {
    const { vmiName, priority } = object.spec;
    const cause = invalidSpec(vmiName, priority, userInfo.username);
    if (cause !== undefined) return invalid(cause);
    const vmi = await client.get(kubevirt.virtualMachineInstances, { namespace, name: vmiName });
    if (vmi === undefined) return refused(`the VMI "${namespace}/${vmiName}" does not exist`);
    if (kubevirt.isFinal(vmi.status)) return refused("Cannot migrate VMI in finalized state.");
    const obstacle = obstacleTo(object, vmi);
    if (obstacle !== undefined) return refused(obstacle);
    const labelSelector = `${kubevirt.LABEL.vmiName}=${vmiName}`;
    const { items } = await client.list(kubevirt.migrations, namespace, { labelSelector });
    const active = items.find(({ status }) => !kubevirt.isFinal(status));
    if (active === undefined) return ALLOWED;
    const job = `Active migration job (${active.metadata.uid})`;
    return refused(`in-flight migration detected. ${job} is currently already in progress for VMI ${vmiName}.`);
  };
}

/**
 * Returns the reason why the VMI cannot migrate. Disks without shared storage do not prevent migrations to another
 * namespace or cluster, because these migrations copy the disks.
 */
function obstacleTo(migration: Migration, { status }: kubevirt.VirtualMachineInstance): string | undefined {
  const migratable = findCondition(status?.conditions, "LiveMigratable");
  const isCopied = kubevirt.syncPhase(migration) !== undefined && migratable?.reason === "DisksNotLiveMigratable";
  if (migratable?.status !== "False" || isCopied) return undefined;
  return `Cannot migrate VMI, Reason: ${migratable.reason}, Message: ${migratable.message}`;
}

function invalidSpec(vmiName: string | undefined, priority: string | undefined, user: string): Cause | undefined {
  if (vmiName === undefined || vmiName === "")
    return { reason: "FieldValueRequired", message: "vmiName is missing", field: "spec.vmiName" };
  if (priority !== undefined && user !== VIRT_CONTROLLER)
    return {
      reason: "FieldValueForbidden",
      message: "Migration priority queue, only virt-controller is allowed to set priority field",
      field: "spec.migrationPriority",
    };
  return undefined;
}

export const admitMigrationUpdate: Admit<Migration> = ({ object, oldObject }) => {
  if (oldObject === null) return ALLOWED;
  if (!isDeepStrictEqual(object.spec, oldObject.spec))
    return unsupported("update of Migration object's spec is restricted");
  const before = oldObject.metadata.labels?.[kubevirt.LABEL.vmiName];
  if (before === undefined || kubevirt.isFinal(object.status)) return ALLOWED;
  const { labels } = object.metadata;
  if (labels === undefined) return unsupported("selector label can't be removed from an in-flight migration");
  if (labels[kubevirt.LABEL.vmiName] === before) return ALLOWED;
  return unsupported("selector label can't be modified on an in-flight migration");
};

function unsupported(message: string) {
  return invalid({ reason: "FieldValueNotSupported", message });
}
