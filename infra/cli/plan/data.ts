/** A plan as JSON, or as a RollingMaintenance that performs the plan. */
import { API_GROUP } from "../../../shared/kube/resources.ts";
import type { PlanOptions } from "../../../shared/plan/facts.ts";
import type { Plan } from "../../../shared/plan/plan.ts";
import { isNotDrained } from "./table.ts";
import { isInTheWay } from "../../../shared/preflight/verdict.ts";

/** Returns the plan as JSON. plan.schema.json describes every field. */
export function jsonOf({ verdict, begins, takes, basis, unread, stuck, evidence, ...plan }: Plan) {
  return {
    verdict,
    begins,
    ...(!plan.nodes.some(isNotDrained) && { takes }),
    basis,
    unread,
    ...(stuck && { stuck }),
    evidence,
    nodes: plan.nodes.map(({ ends, ...node }) => ({
      ...node,
      ...(!isNotDrained(node) && { ends }),
      pods: node.pods.filter((pod) => pod.vmi !== undefined || isInTheWay(pod)),
    })),
  };
}

/** The CRD's default and maximum of `nodeTimeoutSeconds`. */
const TIMEOUT = { usual: 3600, most: 604_800 } as const;

/**
 * Returns twice the expected duration of a node's drain, in seconds. Returns undefined if the CRD's default is enough.
 */
export function timeoutFor(seconds: number): number | undefined {
  const needed = Math.min(TIMEOUT.most, Math.ceil(2 * seconds));
  return needed > TIMEOUT.usual ? needed : undefined;
}

/** Returns the RollingMaintenance that performs a plan. Leaves out fields that have the CRD's default values. */
export function rollingMaintenanceOf(
  { nodes }: Plan,
  { at, until, parallel, template }: PlanOptions,
  isLater: boolean,
) {
  const notBefore = isLater ? secondsText(at) : undefined;
  const nodeTimeoutSeconds = timeoutFor(Math.max(0, ...nodes.map(({ starts, ends }) => ends.most - starts.most)));
  const schedule = { ...(notBefore && { notBefore }), ...(until && { notAfter: secondsText(until) }) };
  return {
    apiVersion: API_GROUP,
    kind: "RollingMaintenance",
    metadata: { name: `maintenance-${at.toISOString().slice(0, 16).replaceAll(/\D/g, "")}` },
    spec: {
      nodes: { names: nodes.map(({ node }) => node) },
      ...(Object.keys(schedule).length > 0 && { schedule }),
      maxUnavailable: parallel,
      ...(nodeTimeoutSeconds !== undefined && { nodeTimeoutSeconds }),
      template: {
        startIf: template.startIf,
        virtualMachines: { whenBlocked: template.virtualMachines.whenBlocked },
        forceShutdowns: template.forceShutdowns,
        otherPods: template.otherPods,
      },
    },
  };
}

function secondsText(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
