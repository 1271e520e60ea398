/** Metric samples for maintenance objects that are blocked or have ended. */
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { ROLLING_ACTIVE_PHASES, type RollingMaintenanceFacts } from "../kube/rolling-maintenance.ts";
import type { Sample } from "./open-metrics.ts";

interface Maintained {
  readonly nodeEvacuations: readonly NodeEvacuationFacts[] | undefined;
  readonly rolling: readonly RollingMaintenanceFacts[] | undefined;
}

export function blockedSamplesOf(all: Maintained): readonly Sample[] {
  return objectsOf(all).flatMap(blockedObject);
}

const WINDOW_MS = 3_600_000;

/** Returns samples of objects that ended in the last hour. */
export function endedSamplesOf(all: Maintained, now: Date): readonly Sample[] {
  return objectsOf(all).flatMap((one) => endedObject(one, now));
}

interface MaintenanceObject {
  readonly object: string;
  readonly node: string;
  readonly phase: string | undefined;
  readonly completionTime: string | undefined;
}

function objectsOf({ nodeEvacuations = [], rolling = [] }: Maintained): readonly MaintenanceObject[] {
  return [
    ...nodeEvacuations.map(({ name, spec: { nodeName: node }, status: { phase, completionTime } }) => {
      return { object: `nodeevacuation/${name}`, node, phase, completionTime };
    }),
    ...rolling.map(({ name, status: { phase, completionTime } }) => {
      return { object: `rollingmaintenance/${name}`, node: "", phase, completionTime };
    }),
  ];
}

function blockedObject({ object, node, phase }: MaintenanceObject): readonly Sample[] {
  return phase === "Blocked" ? [{ labels: [object, node], value: 1 }] : [];
}

function endedObject(
  { object, node, phase = "", completionTime = "" }: MaintenanceObject,
  now: Date,
): readonly Sample[] {
  const isRecent = now.getTime() - Date.parse(completionTime) < WINDOW_MS;
  return isRecent ? [{ labels: [phase, object, node], value: 1 }] : [];
}

export function rollingSamples(rolling: readonly RollingMaintenanceFacts[]): readonly Sample[] {
  const byPhase = Map.groupBy(rolling, ({ status }) => status.phase ?? "Scheduled");
  return ROLLING_ACTIVE_PHASES.map((phase) => ({ labels: [phase], value: byPhase.get(phase)?.length ?? 0 }));
}
