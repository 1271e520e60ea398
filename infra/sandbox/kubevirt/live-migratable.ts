/** Determines from a VMI's spec whether the VMI can migrate, as virt-handler does. */
import type { Condition } from "../actors/conditions.ts";
import { conditionOf } from "./conditions.ts";
import type { VirtualMachineInstanceSpec } from "./resources.ts";

type Obstacle = readonly [reason: string, message: string, isThere: (spec: VirtualMachineInstanceSpec) => boolean];

// prettier-ignore
const OBSTACLES: readonly Obstacle[] = [
  ["InterfaceNotLiveMigratable", "cannot migrate VMI which does not use masquerade or a migratable plugin to connect to the pod network",
    ({ domain }) => (domain.devices?.interfaces ?? []).some(({ bridge }) => bridge !== undefined)],
  ["HostDeviceNotLiveMigratable", "VMI specifies non-migratable generic PCI host device",
    ({ domain }) => (domain.devices?.hostDevices ?? []).length > 0],
  ["DisksNotLiveMigratable", "cannot migrate VMI with non-shared HostDisk",
    ({ volumes = [] }) => volumes.some(({ hostDisk }) => hostDisk !== undefined && hostDisk.shared !== true)],
];

export function liveMigratable(spec: VirtualMachineInstanceSpec): Condition {
  const [reason, message] = OBSTACLES.find(([, , isThere]) => isThere(spec)) ?? [];
  if (reason === undefined || message === undefined) return conditionOf({ type: "LiveMigratable", status: "True" });
  return conditionOf({ type: "LiveMigratable", status: "False", reason, message });
}
