/** Defines the feature that runs descheduling cycles. */
import { DESCHEDULER_CONFIG_MAP, DESCHEDULING, LIFEBOAT_NAMESPACE as namespace } from "../kube/names.ts";
import { applying, type Feature, grant, type Examined } from "../settings/feature.ts";
import { failed, type Finding, ok, warning } from "../settings/finding.ts";
import { DESCHEDULING_MESSAGES as MESSAGES } from "./messages.ts";

const LEASES = "coordination.k8s.io/leases";
const LEASE = { namespace, name: DESCHEDULING };
const gates = ["EvictionsInBackground"] as const;

export const descheduling = {
  name: "descheduling",
  about: "lets Lifeboat's own descheduler evict pods by your policy (ConfigMap lifeboat-descheduler)",
  gates,
  manifests: ["descheduling"],
  permissions: [
    grant("get", "configmaps", "no cycle runs, because the policy cannot be read", {
      namespace,
      name: DESCHEDULER_CONFIG_MAP,
    }),
    grant("get", LEASES, "no cycle runs, because Lifeboat cannot see whether another cycle is running", LEASE),
    grant("patch", LEASES, "only the first cycle runs, because later cycles cannot acquire the Lease", LEASE),
    grant("create", LEASES, "no cycle runs before the Lease exists", { namespace }),
  ],
  events: ["Descheduled", "EvictionFailed"],
  notes: ({ descheduling: { intervalSeconds }, featureGates }) =>
    applying([
      [
        "descheduling.intervalSeconds has no effect without the feature gate EvictionsInBackground",
        intervalSeconds > 0 && !featureGates.includes(gates[0]),
      ],
    ]),
  examine,
} as const satisfies Feature;

async function examine({ settings, policy }: Examined): Promise<readonly Finding[]> {
  if (!settings.featureGates.includes(gates[0])) return [];
  const loaded = await policy();
  if (loaded.ok && loaded.problems.length === 0) return [ok(MESSAGES.isValid)];
  const reasons = loaded.problems.map(({ field, message }) => `${field}: ${message}`);
  if (loaded.ok) return [warning(MESSAGES.leftOut, reasons, POLICY)];
  return [failed(MESSAGES.nothingDescheduled, reasons, POLICY)];
}

const POLICY = "kubectl apply -f POLICY; an example: infra/kubernetes/optional/descheduler-policy";
