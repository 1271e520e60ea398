/**
 * The metrics of a cluster. Tenants must not be able to choose the values of a label, and the number of values must be
 * limited. Therefore, no metric has a label for a namespace or a VM. A maintenance object and its node appear in labels
 * only while the object is blocked, and for an hour after its end.
 */
import { ACTIVE_PHASES, CAUSES, END_PHASES, type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import { NODE_ACTIVE_PHASES, type NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import type { RollingMaintenanceFacts } from "../kube/rolling-maintenance.ts";
import { renewalTime } from "../settings/certificate.ts";
import type { CredentialFacts } from "../settings/credential.ts";
import type { WebhookState } from "../settings/webhooks.ts";
import { blockedSamplesOf, endedSamplesOf, rollingSamples } from "./maintenance.ts";
import { type Family, renderOpenMetrics, type Sample } from "./open-metrics.ts";

// prettier-ignore
export const FAMILIES = {
  build: {
    name: "lifeboat_build", type: "info", unit: "", labels: ["version"],
    help: "The version of Lifeboat that answers.",
  },
  credentialAccepted: {
    name: "lifeboat_credential_accepted", type: "gauge", unit: "", labels: [],
    help: "1 if the API server accepts Lifeboat's token, 0 if it answers 401. With 0, only this metric, the token's expiry and the version exist.",
  },
  credentialExpiry: {
    name: "lifeboat_credential_expiry_timestamp_seconds", type: "gauge", unit: "seconds", labels: [],
    help: "When Lifeboat's token for the API server expires, in seconds since the epoch. Absent if the token does not expire.",
  },
  webhookProblems: {
    name: "lifeboat_webhook_problems", type: "gauge", unit: "", labels: ["webhook"],
    help: "1 if a webhook object is missing or does not lead to Lifeboat, else 0. Absent if Lifeboat cannot read the object. Absent for the guard if no gate needs it.",
  },
  certificateRenewal: {
    name: "lifeboat_certificate_renewal_timestamp_seconds", type: "gauge", unit: "seconds", labels: [],
    help: "When a person has to renew the certificate of Lifeboat's webhooks, in seconds since the epoch. Absent for a Worker.",
  },
  evacuationsEnded: {
    name: "lifeboat_evacuations_ended_last_hour", type: "gauge", unit: "", labels: ["cause", "outcome"],
    help: "Evacuations of VMs that ended in the last hour and still exist, by cause and final phase.",
  },
  evacuationsInProgress: {
    name: "lifeboat_evacuations_in_progress", type: "gauge", unit: "", labels: ["cause"],
    help: "Evacuations of VMs that have not ended, by cause.",
  },
  evacuationsBlocked: {
    name: "lifeboat_evacuations_blocked", type: "gauge", unit: "", labels: ["reason"],
    help: "Evacuations that wait for a person or an external controller, by reason. Reasons without an Evacuation are absent.",
  },
  oldestEvacuation: {
    name: "lifeboat_evacuations_oldest_timestamp_seconds", type: "gauge", unit: "seconds", labels: ["phase"],
    help: "When the oldest Evacuation in a phase was created, in seconds since the epoch. Phases without an Evacuation are absent.",
  },
  nodeEvacuations: {
    name: "lifeboat_node_evacuations", type: "gauge", unit: "", labels: ["node_phase"],
    help: "NodeEvacuations that have not ended, by phase.",
  },
  lateNodeEvacuations: {
    name: "lifeboat_node_evacuations_late", type: "gauge", unit: "", labels: [],
    help: "NodeEvacuations in the phase Evacuating whose estimated end has passed.",
  },
  maintenanceBlocked: {
    name: "lifeboat_maintenance_blocked", type: "gauge", unit: "", labels: ["object", "node_name"],
    help: "Blocked NodeEvacuations and RollingMaintenances. Absent if none is blocked.",
  },
  maintenanceEnded: {
    name: "lifeboat_maintenance_ended", type: "gauge", unit: "", labels: ["result", "object", "node_name"],
    help: "NodeEvacuations and RollingMaintenances that ended in the last hour and still exist, by final phase.",
  },
  rollingMaintenances: {
    name: "lifeboat_rolling_maintenances", type: "gauge", unit: "", labels: ["rolling_phase"],
    help: "RollingMaintenances that have not ended, by phase.",
  },
  configurationProblems: {
    name: "lifeboat_configuration_problems", type: "gauge", unit: "", labels: [],
    help: "Fields of the LifeboatConfiguration whose name or value this version does not know. Lifeboat uses defaults.",
  },
  undecided: {
    name: "lifeboat_reviews_undecided", type: "gauge", unit: "", labels: [],
    help: "1 if Lifeboat, in about the last ten minutes, answered an eviction without all facts (condition ReviewsDecided is False), else 0.",
  },
  guardProblem: {
    name: "lifeboat_guard_problem", type: "gauge", unit: "", labels: ["guard_problem"],
    help: "Why the guard would not protect VMs while Lifeboat is unavailable (condition GuardHolds is False). Absent if there is no problem or the guard is off.",
  },
  podEvacuations: {
    name: "lifeboat_descheduling_pod_evacuations", type: "counter", unit: "", labels: [],
    help: "Evacuations of pods and VMs that descheduling has requested since its Lease was created. Absent if Lifeboat cannot read the Lease.",
  },
  podEvacuationsInProgress: {
    name: "pod_evacuations_in_progress", type: "gauge", unit: "", labels: [],
    help: "Evacuations in progress, of any cause, whose VMI has an evacuationNodeName.",
  },
} as const satisfies Record<string, Family>;

export interface ClusterMetrics {
  readonly version: string;
  readonly credential: CredentialFacts;
  readonly seen?: SeenMetrics;
}

export interface SeenMetrics {
  readonly evacuations: readonly EvacuationFacts[];
  /** Undefined if Lifeboat may not read these objects. The metrics then have no samples for them. */
  readonly nodeEvacuations: readonly NodeEvacuationFacts[] | undefined;
  readonly rolling: readonly RollingMaintenanceFacts[] | undefined;
  readonly webhooks: readonly WebhookState[];
  readonly undecided: boolean;
  readonly configurationProblems: number;
  readonly guardProblem: string | undefined;
  readonly isDescheduling: boolean;
  readonly podEvacuations?: number | undefined;
  readonly now: Date;
}

type Metric = readonly [Family, readonly Sample[]];

export function renderMetrics({ version, credential, seen }: ClusterMetrics): string {
  return renderOpenMetrics([
    [FAMILIES.build, [{ labels: [version], value: 1 }]],
    ...credentialMetrics(credential),
    ...(seen === undefined ? [] : seenMetrics(seen)),
  ]);
}

function credentialMetrics({ expiresAt, rejected }: CredentialFacts): readonly Metric[] {
  const ends = expiresAt === undefined ? [] : [{ labels: [], value: Math.floor(expiresAt.getTime() / 1000) }];
  return [
    [FAMILIES.credentialAccepted, [{ labels: [], value: rejected ? 0 : 1 }]],
    [FAMILIES.credentialExpiry, ends],
  ];
}

function seenMetrics(seen: SeenMetrics): readonly Metric[] {
  const { evacuations: all, nodeEvacuations, webhooks, isDescheduling, now } = seen;
  const { undecided, configurationProblems, guardProblem } = seen;
  const evacuations = all.filter(isActive);
  return [
    [FAMILIES.webhookProblems, webhooks.map(problemSample)],
    [FAMILIES.certificateRenewal, renewalSamples(webhooks)],
    [FAMILIES.evacuationsEnded, endedSamples(all, now)],
    [FAMILIES.evacuationsInProgress, inProgressSamples(evacuations)],
    [FAMILIES.evacuationsBlocked, blockedSamples(evacuations)],
    [FAMILIES.oldestEvacuation, oldestSamples(evacuations)],
    [FAMILIES.nodeEvacuations, nodeEvacuations ? nodeSamples(nodeEvacuations) : []],
    [FAMILIES.lateNodeEvacuations, nodeEvacuations ? [lateSample(nodeEvacuations, now)] : []],
    [FAMILIES.maintenanceBlocked, blockedSamplesOf(seen)],
    [FAMILIES.maintenanceEnded, endedSamplesOf(seen, now)],
    [FAMILIES.rollingMaintenances, seen.rolling ? rollingSamples(seen.rolling) : []],
    [FAMILIES.configurationProblems, [{ labels: [], value: configurationProblems }]],
    [FAMILIES.undecided, [{ labels: [], value: undecided ? 1 : 0 }]],
    [FAMILIES.guardProblem, guardProblem === undefined ? [] : [{ labels: [guardProblem], value: 1 }]],
    ...(isDescheduling ? [requestedBy(seen), inBackground(evacuations)] : []),
  ];
}

function problemSample({ endpoint, problem }: WebhookState): Sample {
  return { labels: [endpoint], value: problem === undefined ? 0 : 1 };
}

function renewalSamples(webhooks: readonly WebhookState[]): readonly Sample[] {
  const chain = webhooks.flatMap((webhook) => webhook.chain ?? []);
  return chain.length === 0 ? [] : [{ labels: [], value: Math.floor(renewalTime(chain).getTime() / 1000) }];
}

const WINDOW_MS = 3_600_000;

function endedSamples(evacuations: readonly EvacuationFacts[], now: Date): readonly Sample[] {
  const ended = evacuations.filter(({ status: { completionTime } }) => {
    return completionTime !== undefined && now.getTime() - Date.parse(completionTime) < WINDOW_MS;
  });
  const byEnd = Map.groupBy(ended, ({ spec, status }) => `${spec.cause} ${status.phase}`);
  return CAUSES.flatMap((cause) =>
    END_PHASES.map((phase) => ({ labels: [cause, phase], value: byEnd.get(`${cause} ${phase}`)?.length ?? 0 })),
  );
}

function inProgressSamples(evacuations: readonly EvacuationFacts[]): readonly Sample[] {
  const byCause = Map.groupBy(evacuations, ({ spec }) => spec.cause);
  return CAUSES.map((cause) => ({ labels: [cause], value: byCause.get(cause)?.length ?? 0 }));
}

/**
 * Counts the Evacuations that wait for a person or an external controller, by reason. Only reasons that occur have a
 * sample, because most reasons come from KubeVirt, and its later versions can add reasons.
 */
function blockedSamples(evacuations: readonly EvacuationFacts[]): readonly Sample[] {
  const blocked = evacuations.filter(
    ({ status: { phase } }) => phase === "Blocked" || phase === "WaitingForExternalController",
  );
  const byReason = Map.groupBy(blocked, ({ status }) => status.reason ?? "Unknown");
  return [...byReason].map(([reason, { length }]) => ({ labels: [reason], value: length }));
}

/** Reports the oldest Evacuation in each phase. Treats an Evacuation without a phase as Pending. */
function oldestSamples(evacuations: readonly EvacuationFacts[]): readonly Sample[] {
  const dated = evacuations.filter(({ createdAt }) => createdAt > 0);
  const byPhase = Map.groupBy(dated, ({ status }) => status.phase ?? "Pending");
  return ACTIVE_PHASES.flatMap((phase) => {
    const oldest = Math.min(...(byPhase.get(phase) ?? []).map(({ createdAt }) => createdAt));
    return oldest === Infinity ? [] : [{ labels: [phase], value: Math.floor(oldest / 1000) }];
  });
}

function nodeSamples(nodeEvacuations: readonly NodeEvacuationFacts[]): readonly Sample[] {
  const byPhase = Map.groupBy(nodeEvacuations, ({ status }) => status.phase ?? "Scheduled");
  return NODE_ACTIVE_PHASES.map((phase) => ({ labels: [phase], value: byPhase.get(phase)?.length ?? 0 }));
}

function lateSample(nodeEvacuations: readonly NodeEvacuationFacts[], now: Date): Sample {
  return { labels: [], value: nodeEvacuations.filter((ne) => isLate(ne, now)).length };
}

function isLate({ status: { phase, estimatedCompletionTime = "" } }: NodeEvacuationFacts, now: Date): boolean {
  return phase === "Evacuating" && Date.parse(estimatedCompletionTime) < now.getTime();
}

function isSeenMarked({ status }: EvacuationFacts): boolean {
  return status.conditions.some((condition) => condition.type === "Marked" && condition.status === "True");
}

function requestedBy({ podEvacuations }: SeenMetrics): Metric {
  return [FAMILIES.podEvacuations, podEvacuations === undefined ? [] : [{ labels: [], value: podEvacuations }]];
}

function inBackground(evacuations: readonly EvacuationFacts[]): Metric {
  return [FAMILIES.podEvacuationsInProgress, [{ labels: [], value: evacuations.filter(isSeenMarked).length }]];
}
