/** Fault: evictions of VMs that cannot move, or have an unknown strategy, are refused again and again. */
import type { Fault } from "../fault.ts";

/**
 * Evictions of some VMs are refused for the whole run. KubeVirt's webhook allows the eviction of a VM with an unknown
 * strategy, so only a PodDisruptionBudget protects that VM.
 */
export const refusedVms: Fault = {
  says: "evictions of VMs that cannot move, or have an unknown eviction strategy, are refused again and again",
  weight: 4,
  not: ["peopleMigrate"],
  alter(vm, draw) {
    if (!draw.chance(0.3)) return vm;
    const strategy = draw.pick(["LiveMigrate", "Unknown"] as const);
    return { ...vm, strategy, migratable: strategy === "Unknown" && draw.chance(0.5), mustLeave: false };
  },
};
