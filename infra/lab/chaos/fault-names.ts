/** Maps the name of each fault to the fault. */
import type { Fault } from "./fault.ts";
import * as ALL from "./faults/index.ts";

export type FaultName = keyof typeof ALL;

export const FAULTS: Readonly<Record<FaultName, Fault>> = ALL;
export const FAULT_NAMES = Object.keys(FAULTS).filter(isFault);

export function isFault(name: string): name is FaultName {
  return name in FAULTS;
}
