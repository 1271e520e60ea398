/**
 * A node under pressure, who lives there, and a node with room.
 * Owns: assembling those facts. Does not own: nodes and VMs themselves (disruptions.ts, fixtures.ts).
 */
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { planPressure, type PressureWorld, type Resident } from "../../shared/policy/pressure.ts";
import { guarded, node } from "./disruptions.ts";
import { NODE, NOW, only, pod, vmi } from "./fixtures.ts";

export const GIB = 2 ** 30;

export const PRESSED = node({ pressures: ["MemoryPressure"] });
export const ROOM = { node: node({ name: "node02" }), freeMemory: 8 * GIB };

interface Sizes {
  readonly priority?: number;
  readonly request?: number;
  readonly guest?: number;
}

/** A VM called so on the pressed node, of 1 GiB as requested. */
export function resident(
  name: string,
  { priority = 0, request = 1, guest = 1 }: Sizes = {},
  of: Partial<VmiFacts> = {},
): Resident {
  const uid = `pod-${name}`;
  const subject = vmi({ name, uid: `uid-${name}`, activePods: { [uid]: NODE }, guestMemory: guest * GIB, ...of });
  return {
    vmi: subject,
    pod: pod({ uid, name: `virt-launcher-${name}-aaaaa`, priority, memoryRequest: request * GIB }),
  };
}

export function pressureWorld(residents: readonly Resident[], tweak: Partial<PressureWorld> = {}): PressureWorld {
  return {
    pressured: [{ node: PRESSED, residents }],
    takers: [ROOM],
    signals: [],
    settings: guarded(),
    now: NOW,
    ...tweak,
  };
}

export function leaving(residents: readonly Resident[], tweak: Partial<PressureWorld> = {}): readonly string[] {
  return only("Mark", planPressure(pressureWorld(residents, tweak)).chains.flat()).map((mark) => mark.vmi.name);
}
