/** The optional parts of Lifeboat, by name. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import type { FeatureGate } from "../../../shared/policy/settings.ts";

export interface Part {
  readonly name: string;
  readonly about: string;
  readonly files: readonly string[];
  readonly gates: readonly FeatureGate[];
}

export const PARTS: readonly Part[] = [
  {
    name: "guard",
    about: "refuses deletions by the scheduler, the taint manager and Karpenter until the VM has moved",
    files: ["kubernetes/optional/guard/guard.yaml"],
    gates: [
      "PreemptionEvictionLiveMigration",
      "NoExecuteTaintEvictionLiveMigration",
      "NodeTerminationEvictionLiveMigration",
    ],
  },
  {
    name: "pressure",
    about: "moves VMs off nodes under memory, disk or PID pressure",
    files: [],
    gates: ["NodePressureEvictionLiveMigration"],
  },
  {
    name: "shield",
    about: "experimental: launchers wait after a SIGTERM under node pressure (KubeVirt 1.9, gate Plugins)",
    files: ["kubernetes/optional/shield/shield.yaml"],
    gates: ["NodePressureEvictionLiveMigration"],
  },
  {
    name: "migration-policy",
    about: "makes urgent migrations converge",
    files: ["kubernetes/optional/migration-policy/migration-policy.yaml"],
    gates: [],
  },
  {
    name: "descheduling",
    about: "Lifeboat's own descheduler may evict; its policy is yours",
    files: ["kubernetes/optional/descheduling/descheduling.yaml"],
    gates: ["EvictionsInBackground"],
  },
  {
    name: "descheduler-support",
    about: "annotates launcher pods for another descheduler",
    files: ["kubernetes/optional/descheduler-support/descheduler-support.yaml"],
    gates: ["DeschedulerSupport"],
  },
  {
    name: "restriction",
    about: "limits what Lifeboat's account may change on pods",
    files: ["kubernetes/optional/restriction/restriction.yaml"],
    gates: [],
  },
];

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
