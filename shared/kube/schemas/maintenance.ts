/** Defines the schemas of NodeEvacuation and RollingMaintenance. */
import * as z from "zod/mini";
import { MANAGED_BY, MANAGED_BY_LABEL } from "../names.ts";
import * as nodes from "../node-evacuation.ts";
import * as rolling from "../rolling-maintenance.ts";
import { LARGE_FACTS } from "./bounds.ts";
import { Count, createdAt, kind, listOf, Meta, ObjectName, part, Text } from "./fields.ts";
import { CONDITION, wordOf, Words } from "./lifeboat.ts";

const how = () => ({
  startIf: wordOf(["Always", "WillSucceed", "WillSucceedWithShutdowns"], "Always"),
  virtualMachines: part({
    order: wordOf(nodes.VM_ORDERS, "ByPriority"),
    concurrency: z.optional(z.number()),
    whenBlocked: wordOf(nodes.WHEN_BLOCKED, "Wait"),
    whenAttemptsFail: wordOf(["Wait", "Restart"], "Wait"),
    ownersChoice: wordOf(["Respected", "Ignored"], "Respected"),
  }),
  /** Whether Lifeboat restarts or stops VMs even if something else blocks the drain of the node. */
  forceShutdowns: z._default(z.boolean(), false),
  otherPods: wordOf(["Evict", "EvictWithLocalData", "Leave"], "Evict"),
  afterwards: part({ returnVMs: wordOf(["Never", "WhenUncordoned"], "Never") }),
});

const Counts = z.lazy(() =>
  z.object({
    total: Count,
    left: Count,
    moving: Count,
    waiting: Count,
    blocked: Count,
    moved: Count,
    restarted: Count,
    shutDown: Count,
    stopped: Count,
    abandoned: Count,
    leftBehind: Count,
  }),
);

const nodeSpec = () =>
  z.object({
    nodeName: z.string(),
    intent: wordOf(["Evacuate", "Withdrawn"], "Evacuate"),
    progress: wordOf(["Running", "Paused"], "Running"),
    /** Times are RFC 3339. */
    schedule: part({
      notBefore: Text,
      notAfter: Text,
      /** Lifeboat 0.3 waited for the NodeEvacuation of this name before it started this NodeEvacuation. */
      after: Text,
    }),
    ...how(),
  });
const nodeStatus = () =>
  part({
    phase: z.optional(z.enum([...nodes.NODE_ACTIVE_PHASES, ...nodes.NODE_END_PHASES])),
    message: Text,
    verdict: Text,
    /** The time at which the node was cordoned. Absent before the start. */
    startTime: Text,
    estimatedCompletionTime: Text,
    completionTime: Text,
    lastUpdateTime: Text,
    virtualMachines: z.optional(Counts),
    blockers: listOf(
      z.object({
        namespace: Words,
        name: Words,
        /** The UID of the VMI or the pod. */
        uid: Text,
        reason: Words,
        message: Words,
        whoCanFix: Text,
        since: Text,
      }),
    ),
    outcomes: listOf(
      z.object({
        namespace: Words,
        name: Words,
        uid: Words,
        /** Absent until the outcome is known. */
        outcome: z.optional(z.enum(nodes.OUTCOMES)),
        reason: Text,
        targetNode: Text,
        /** The start of the VM's evacuation. */
        startTime: Text,
        time: Text,
      }),
    ),
    conditions: listOf(z.object(CONDITION)),
  });

/** `node-evacuation.ts` derives the types of a NodeEvacuation from these types. */
export type NodeSpecRead = z.output<ReturnType<typeof nodeSpec>>;
export type NodeStatusRead = z.output<ReturnType<typeof nodeStatus>>;

const nodeEvacuation = kind(
  () => ({
    metadata: Meta,
    spec: nodeSpec(),
    status: nodeStatus(),
  }),
  ({ metadata, spec: { afterwards, ...spec }, status }) => {
    return {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      createdAt: createdAt(metadata),
      isCommands: metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY,
      owner: ownerIn(metadata.ownerReferences),
      spec: { ...spec, returnVMs: afterwards.returnVMs },
      status: { ...status, conditions: status.conditions.filter(isNodes) },
    } satisfies nodes.NodeEvacuationFacts;
  },
  LARGE_FACTS,
);

function ownerIn(owners: z.output<typeof Meta>["ownerReferences"]): nodes.NodeEvacuationFacts["owner"] {
  const owner = owners.find(({ kind: its, controller }) => its === "RollingMaintenance" && controller);
  return owner && { name: owner.name, uid: owner.uid };
}

export const NodeEvacuation: z.ZodMiniType<nodes.NodeEvacuationFacts> = nodeEvacuation;
export type NodeEvacuationRead = z.output<typeof nodeEvacuation>;

function isNodes(condition: Record<keyof nodes.NodeCondition, string>): condition is nodes.NodeCondition {
  const { type, status } = condition;
  return nodes.NODE_CONDITIONS.some((one) => one === type) && (status === "True" || status === "False");
}

const rollingMaintenance = kind(
  () => ({
    metadata: Meta,
    spec: z.object({
      nodes: z.object({
        names: z.optional(z.array(ObjectName)),
        matchLabels: z.optional(z.record(z.string(), z.string())),
      }),
      intent: wordOf(["Evacuate", "Withdrawn"], "Evacuate"),
      progress: wordOf(["Running", "Paused"], "Running"),
      schedule: part({ notBefore: Text, notAfter: Text }),
      maxUnavailable: z._default(z.number(), 1),
      nextNode: wordOf(["WhenUncordoned", "WhenEvacuated"], "WhenUncordoned"),
      nodeTimeoutSeconds: z._default(z.number(), 3600),
      whenNodeFails: wordOf(["Stop", "Continue"], "Stop"),
      steering: wordOf(["None", "AwayFromPending"], "None"),
      template: part(how()),
    }),
    status: part({
      phase: z.optional(z.enum([...rolling.ROLLING_ACTIVE_PHASES, ...rolling.ROLLING_END_PHASES])),
      message: Text,
      forecast: Text,
      startTime: Text,
      estimatedCompletionTime: Text,
      completionTime: Text,
      lastUpdateTime: Text,
      nodeCounts: z.optional(
        z.object({ total: Count, pending: Count, active: Count, evacuated: Count, failed: Count }),
      ),
      nodes: listOf(
        z.object({
          name: z.string(),
          nodeEvacuation: Text,
          phase: z.enum(rolling.ROW_PHASES),
          message: Text,
          startTime: Text,
          completionTime: Text,
          returnTime: Text,
          virtualMachines: z.optional(Counts),
        }),
      ),
    }),
  }),
  ({ metadata, spec: { nodes: wanted, template, ...spec }, status }) => {
    const { afterwards, ...how } = template;
    return {
      name: metadata.name,
      uid: metadata.uid,
      resourceVersion: metadata.resourceVersion,
      createdAt: createdAt(metadata),
      isCommands: metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY,
      spec: { ...spec, nodes: wanted, template: { ...how, returnVMs: afterwards.returnVMs } },
      status,
    } satisfies rolling.RollingMaintenanceFacts;
  },
  2 * LARGE_FACTS,
);

export const RollingMaintenance: z.ZodMiniType<rolling.RollingMaintenanceFacts> = rollingMaintenance;
export type RollingMaintenanceRead = z.output<typeof rollingMaintenance>;
