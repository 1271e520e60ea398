/** Fault: some migrations take long, or hang until the faults are over. */
import type { Fault } from "../fault.ts";

export const migrationsHang: Fault = {
  says: "some migrations take long, or hang until the faults are over",
  weight: 4,
  alter: (vm, draw) => (draw.chance(0.3) ? { ...vm, migrationMs: draw.pick([500, 1000, 2000, 6000]) } : vm),
};
