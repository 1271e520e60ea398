/** Patches a VMI that virt-handler owns. As in virt-controller, a `test` operation checks each old value. */
import { isDeepStrictEqual } from "node:util";
import type { KubeClient } from "../../actors/client.ts";
import { conditionOf } from "../conditions.ts";
import * as kubevirt from "../resources.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export async function patchVmi(client: KubeClient, before: Vmi, after: Vmi): Promise<void> {
  const { status: old = {}, metadata } = before;
  const { status = {} } = after;
  const body = [
    ...replaced("/status/conditions", asRead(old), asRead(status)),
    ...replaced("/status/activePods", old.activePods, status.activePods),
    ...replaced("/status/phase", old.phase, status.phase),
    ...replaced("/status/migrationState", old.migrationState, status.migrationState),
    ...replaced("/status/changedBlockTracking", old.changedBlockTracking, status.changedBlockTracking),
    ...replaced("/metadata/labels", metadata.labels, after.metadata.labels),
  ];
  if (body.length > 0) await client.patch(kubevirt.virtualMachineInstances, metadata, { type: "json", body });
}

/** Returns the conditions with null for missing fields, as in the `test` operation of virt-controller's JSON patch. */
function asRead({ conditions }: kubevirt.VirtualMachineInstanceStatus) {
  return conditions?.map((condition) => conditionOf(condition));
}

function replaced(path: string, before: unknown, after: unknown): readonly object[] {
  if (isDeepStrictEqual(before, after)) return [];
  return [
    { op: "test", path, value: before ?? null },
    { op: "replace", path, value: after },
  ];
}
