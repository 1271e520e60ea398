/**
 * The metrics of a cluster: one table.
 *
 * No label takes a value that a tenant chooses, and none that has no bound: no namespace, no VM, no node.
 */
import type { Family } from "./open-metrics.ts";

// prettier-ignore
export const FAMILIES = {
  build: {
    name: "lifeboat_build", type: "info", unit: "", labels: ["version"],
    help: "The version of Lifeboat that answers.",
  },
  credentialAccepted: {
    name: "lifeboat_credential_accepted", type: "gauge", unit: "", labels: [],
    help: "Whether the API server accepts Lifeboat's token: 0 if it answers 401. Then only these two and the build are there.",
  },
  credentialExpiry: {
    name: "lifeboat_credential_expiry_timestamp_seconds", type: "gauge", unit: "seconds", labels: [],
    help: "When Lifeboat's token of the cluster ends, since the epoch. Absent if it names no end.",
  },
  webhookProblems: {
    name: "lifeboat_webhook_problems", type: "gauge", unit: "", labels: ["webhook"],
    help: "What keeps the API server from asking Lifeboat, in each webhook object. Absent for one that is not installed or not readable.",
  },
  evacuationsEnded: {
    name: "lifeboat_evacuations_ended_last_hour", type: "gauge", unit: "", labels: ["cause", "outcome"],
    help: "Evacuations of VMs that ended in the last hour and are still there, by what caused them and how they ended.",
  },
  evacuationsInProgress: {
    name: "lifeboat_evacuations_in_progress", type: "gauge", unit: "", labels: ["cause"],
    help: "Evacuations of VMs that have not ended, by what caused them.",
  },
  evacuationsBlocked: {
    name: "lifeboat_evacuations_blocked", type: "gauge", unit: "", labels: ["reason"],
    help: "Evacuations that wait for a person or an external controller, by what for. Absent for a reason that none has.",
  },
  oldestEvacuation: {
    name: "lifeboat_evacuations_oldest_timestamp_seconds", type: "gauge", unit: "seconds", labels: ["phase"],
    help: "When the oldest evacuation of those in that phase began, since the epoch. Absent if none is in it.",
  },
  undecided: {
    name: "lifeboat_reviews_undecided", type: "gauge", unit: "", labels: [],
    help: "Whether an eviction was answered without the facts in the last ten minutes or a little more (condition ReviewsDecided is False).",
  },
  podEvacuationsInProgress: {
    name: "pod_evacuations_in_progress", type: "gauge", unit: "", labels: [],
    help: "Evacuations in progress whose VM is marked, of any cause.",
  },
} as const satisfies Record<string, Family>;
