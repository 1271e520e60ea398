/**
 * How virt-controller changes a VMI that virt-handler owns: by patches that test what they replace.
 * Owns: which fields it replaces this way. Does not own: what changes, trying again when a test fails.
 */
import type { KubeClient } from "../../actors/client.ts";
import { areAlike, conditionOf } from "../conditions.ts";
import { virtualMachineInstances, type VirtualMachineInstance } from "../resources.ts";
import { isSame } from "../same.ts";

export async function patchVmi(
  client: KubeClient,
  before: VirtualMachineInstance,
  after: VirtualMachineInstance,
): Promise<void> {
  const { status: old = {}, metadata } = before;
  const { status = {} } = after;
  // It tests for the conditions as it reads them: a null that somebody left out is there again.
  const conditions = (old.conditions ?? []).map((condition) => conditionOf(condition));
  const body = [
    ...(areAlike(conditions, status.conditions ?? [])
      ? []
      : replaced("/status/conditions", conditions, status.conditions)),
    ...replaced("/status/activePods", old.activePods, status.activePods),
    ...replaced("/status/phase", old.phase, status.phase),
    ...replaced("/status/migrationState", old.migrationState, status.migrationState),
    ...replaced("/status/changedBlockTracking", old.changedBlockTracking, status.changedBlockTracking),
    ...replaced("/metadata/labels", metadata.labels, after.metadata.labels),
  ];
  if (body.length > 0) await client.patch(virtualMachineInstances, metadata, { type: "json", body });
}

function replaced(path: string, before: unknown, after: unknown): readonly object[] {
  if (isSame(before, after)) return [];
  return [
    { op: "test", path, value: before ?? null },
    { op: "replace", path, value: after },
  ];
}
