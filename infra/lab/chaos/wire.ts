/** The words on the wire that the judge looks for. */
export const WIRE = {
  /** On a VMI whose evacuation is urgent. */
  urgentLabel: "lifeboat.dev/evacuation",
  /** On a VMI that the shield covers. */
  shieldLabel: "lifeboat.dev/shield",
  managedByLabel: "app.kubernetes.io/managed-by",
  managedBy: "lifeboat",
  /** On launcher pods. */
  inProgress: "descheduler.alpha.kubernetes.io/eviction-in-progress",
  namespace: "lifeboat-system",
  policy: { name: "lifeboat-descheduler", key: "policy.yaml" },
  lease: "lifeboat-descheduling",
  webhookConfigurations: ["lifeboat", "lifeboat-guard"],
  /** Who takes the replicas' Lease away. */
  stranger: "stranger",
} as const;
