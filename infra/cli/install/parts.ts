/** The optional parts of Lifeboat, by name. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { FeatureGate } from "../../../shared/policy/settings.ts";

export interface Part {
  readonly name: string;
  readonly about: string;
  readonly gates: readonly FeatureGate[];
  readonly files: readonly string[];
}

const PRESSURE = "NodePressureEvictionLiveMigration";
const GUARD = [
  "PreemptionEvictionLiveMigration",
  "NoExecuteTaintEvictionLiveMigration",
  "NodeTerminationEvictionLiveMigration",
] as const;

export const PARTS: readonly Part[] = [
  part("guard", "refuses deletions by the scheduler, the taint manager and Karpenter until the VM has moved", GUARD),
  { ...part("pressure", "moves VMs off nodes under memory, disk or PID pressure", [PRESSURE]), files: [] },
  part("shield", "experimental: launchers wait after a SIGTERM under node pressure (KubeVirt 1.9, gate Plugins)", [
    PRESSURE,
  ]),
  part("migration-policy", "makes urgent migrations converge"),
  part("descheduling", "Lifeboat's own descheduler may evict; its policy is yours", ["EvictionsInBackground"]),
  part("descheduler-support", "annotates launcher pods for another descheduler", ["DeschedulerSupport"]),
  part("restriction", "limits what Lifeboat's account may change on pods"),
];

function part(name: string, about: string, gates: readonly FeatureGate[] = []): Part {
  return { name, about, gates, files: [`kubernetes/optional/${name}/${name}.yaml`] };
}

/** `guard,shield`, as `--with` takes it; may be given more than once. */
export function partsNamed(list: string, before: readonly Part[] = []): readonly Part[] {
  const named = list
    .split(",")
    .filter(Boolean)
    .map((name) => {
      const part = PARTS.find((one) => one.name === name);
      if (part !== undefined) return part;
      throw new InvalidArgumentError(`There are ${PARTS.map((one) => one.name).join(", ")}.`);
    });
  return [...new Set([...before, ...named])];
}
