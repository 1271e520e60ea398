/** Defines the feature that protects the pods of VMs against deletions. */
import { type Feature, grant } from "../settings/feature.ts";
import { examineGuard } from "./examine.ts";
import { planDisruptions } from "./disruption.ts";

export const guard = {
  name: "guard",
  about: "refuses deletions by the scheduler, the taint manager and Karpenter until the VM has moved",
  gates: [
    "PreemptionEvictionLiveMigration",
    "NoExecuteTaintEvictionLiveMigration",
    "NodeTerminationEvictionLiveMigration",
  ],
  manifests: ["launchers", "hold-preemption", "hold-taints", "hold-node-end", "guard"],
  permissions: [
    grant(
      "delete",
      "pods",
      "a pod on a tainted node stays after its deadline, because the taint manager does not try again",
    ),
  ],
  withoutRelay: "the guard is on, but it misses deletions for which the API server does not call Lifeboat",
  events: ["DeletionRefused", "DeletionAllowed", "DisruptionSeen", "DeadlineKept"],
  plan: planDisruptions,
  examine: examineGuard,
} as const satisfies Feature;
