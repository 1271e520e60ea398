/** A node under pressure, who lives there, and a node with room. */
import type { EvacuationFacts, VmiFacts } from "../../../shared/policy/facts.ts";
import { planPressure, type PressureWorld, type Resident } from "../../../shared/policy/pressure/pressure.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { evacuation, node, NODE, NOW, only, pod, settings, vmi } from "../fixtures.ts";

export const GIB = 2 ** 30;

export const PRESSED = node({ pressures: ["MemoryPressure"] });
export const ROOM = { node: node({ name: "node02" }), freeMemory: 8 * GIB };

/** With the gate on. */
export function relieving(tweak: Parameters<typeof settings>[0] = {}): Settings {
  return settings({ featureGates: ["NodePressureEvictionLiveMigration"], ...tweak });
}

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

/** An Evacuation of the VM of that name, from the pressed node. */
export function evacuationOf(name: string, { spec, status }: Parameters<typeof evacuation>[0] = {}): EvacuationFacts {
  const identity = { virtualMachineInstanceUID: `uid-${name}`, podUID: `pod-${name}` };
  return evacuation({
    name: `${name}-1`,
    uid: `evacuation-${name}`,
    spec: { vmiName: name, cause: "NodePressure", pod: { uid: `pod-${name}` }, ...spec },
    status: { ...identity, ...status },
  });
}

export function pressureWorld(residents: readonly Resident[], tweak: Partial<PressureWorld> = {}): PressureWorld {
  return {
    pressured: [{ node: PRESSED, residents, evacuations: [] }],
    takers: [ROOM],
    signals: [],
    evacuations: [],
    settings: relieving(),
    now: NOW,
    ...tweak,
  };
}

export function leaving(residents: readonly Resident[], tweak: Partial<PressureWorld> = {}): readonly string[] {
  return only("Mark", planPressure(pressureWorld(residents, tweak)).chains.flat()).map((mark) => mark.vmi.name);
}
