/**
 * Whether a VMI can be migrated live, read off its spec as virt-handler does.
 * Owns: the LiveMigratable condition and its reasons. Does not own: what a strategy makes of it.
 */
import type { Condition } from "../actors/conditions.ts";
import { conditionOf } from "./conditions.ts";
import type { VirtualMachineInstanceSpec } from "./resources.ts";

interface Obstacle {
  readonly reason: string;
  readonly message: string;
  readonly isThere: (spec: VirtualMachineInstanceSpec) => boolean;
}

const OBSTACLES: readonly Obstacle[] = [
  {
    reason: "InterfaceNotLiveMigratable",
    message: "cannot migrate VMI which does not use masquerade or a migratable plugin to connect to the pod network",
    isThere: ({ domain }) => (domain.devices?.interfaces ?? []).some(({ bridge }) => bridge !== undefined),
  },
  {
    reason: "HostDeviceNotLiveMigratable",
    message: "VMI specifies non-migratable generic PCI host device",
    isThere: ({ domain }) => (domain.devices?.hostDevices ?? []).length > 0,
  },
  {
    reason: "DisksNotLiveMigratable",
    message: "cannot migrate VMI with non-shared HostDisk",
    isThere: ({ volumes = [] }) => volumes.some(({ hostDisk }) => hostDisk !== undefined && hostDisk.shared !== true),
  },
];

export function liveMigratable(spec: VirtualMachineInstanceSpec): Condition {
  const obstacle = OBSTACLES.find(({ isThere }) => isThere(spec));
  if (obstacle === undefined) return conditionOf({ type: "LiveMigratable", status: "True" });
  const { reason, message } = obstacle;
  return conditionOf({ type: "LiveMigratable", status: "False", reason, message });
}
