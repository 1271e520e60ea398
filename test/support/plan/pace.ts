/** Generates durations of migrations and drains in a random cluster. */
import { type Lots, seededLots } from "../../../infra/sandbox/index.ts";
import { asJson } from "../json.ts";
import type { Step } from "./carried-out.ts";
import { type Fleet, NAMESPACE } from "./fleet.ts";

export interface Pace {
  /** The duration in seconds of a migration of a VM with `gib` GiB. Each call returns another duration. */
  readonly migration: (gib: number) => number;
  readonly between: (least: number, most: number) => number;
}

/**
 * Returns durations that depend only on the seed. The network is slow or fast, and the durations of migrations differ
 * by up to a third.
 */
export function paceFor(seed: number): Pace {
  const draw: Lots = seededLots(seed * 7919);
  const between = (least: number, most: number) => least + (most - least) * draw();
  const [overhead, secondsPerGib] = [between(4, 15), between(0.5, 8)];
  return { migration: (gib) => (overhead + secondsPerGib * gib) * between(0.7, 1.35), between };
}

const EARLIER = 60;
const BEGAN = Date.parse("2026-01-02T00:00:00Z");

export function historyOf({ vmis }: Fleet, pace: Pace) {
  const step = Math.max(1, Math.floor(vmis.length / EARLIER));
  return vmis
    .filter((_, at) => at % step === 0)
    .map((vmi, at) => {
      const began = BEGAN + at * 600_000;
      const ended = began + pace.migration(gibOf(vmi)) * 1000;
      const name = `earlier-${vmi.metadata.name}`;
      return asJson({
        apiVersion: "kubevirt.io/v1",
        kind: "VirtualMachineInstanceMigration",
        metadata: { namespace: NAMESPACE, name, uid: name, resourceVersion: "1", creationTimestamp: time(began) },
        spec: { vmiName: vmi.metadata.name },
        status: {
          phase: "Succeeded",
          phaseTransitionTimestamps: [
            { phase: "Scheduling", phaseTransitionTimestamp: time(began) },
            { phase: "Succeeded", phaseTransitionTimestamp: time(ended) },
          ],
        },
      });
    });
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}

function gibOf({ spec }: Fleet["vmis"][number]): number {
  return Number.parseInt(spec.domain.memory?.guest ?? "0", 10);
}

const AT_ONCE = 2;
/** In seconds. Lifeboat checks a VM twice, a minute apart, before it shuts down the guest. */
const WAIT = 60;

/** Returns the seconds until the last node is done. KubeVirt migrates two VMs of a node at a time. */
export function secondsFor(steps: readonly Step[], { vmis }: Fleet, { migration, between }: Pace): number {
  const sizes = new Map(vmis.map((vmi) => [vmi.metadata.name, gibOf(vmi)]));
  return steps.reduce((sum, { fates, evicted }) => {
    const places = Array<number>(AT_ONCE).fill(0);
    const ending = [...fates.values()].filter((fate) => fate === "ShutsDown");
    for (const [name] of [...fates].filter(([, fate]) => fate === "Moves")) {
      places.sort((a, b) => a - b);
      places[0] = (places[0] ?? 0) + migration(sizes.get(name) ?? 0);
    }
    const guests = ending.reduce((total) => total + between(4, 50), ending.length > 0 ? WAIT : 0);
    return sum + between(3, 10) + Math.max(...places) + guests + (evicted > 0 ? between(5, 35) : 0);
  }, 0);
}
