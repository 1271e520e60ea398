/** Fault: migrations of some VMs fail once, three times, or always. */
import type { Fault } from "../fault.ts";
import { ALWAYS } from "../vms.ts";

export const migrationsFail: Fault = {
  says: "migrations of some VMs fail once, three times, or always",
  weight: 6,
  alter(vm, draw) {
    const isOurs = vm.strategy === "LiveMigrate" || vm.strategy === "LiveMigrateIfPossible";
    return isOurs ? { ...vm, failures: draw.pick([0, 0, 0, 1, 1, 3, ALWAYS]) } : vm;
  },
};
