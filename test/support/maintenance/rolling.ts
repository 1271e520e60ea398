/** Creates RollingMaintenances and their NodeEvacuations, changed by a test. */
import type { NodeFacts } from "../../../shared/kube/facts.ts";
import type { NodeEvacuationFacts, NodeEvacuationStatus } from "../../../shared/kube/node-evacuation.ts";
import type {
  NodeRow,
  RollingMaintenanceFacts,
  RollingMaintenanceSpec,
  RollingMaintenanceStatus,
} from "../../../shared/kube/rolling-maintenance.ts";
import { evacuationName } from "../../../shared/maintenance/rolling/nodes.ts";
import { nextOfRolling } from "../../../shared/maintenance/rolling/rules.ts";
import type { RollingNext } from "../../../shared/maintenance/rolling/world.ts";
import { factsOf, type FactMap } from "../facts.ts";
import { node, NOW, settings, time } from "../fixtures.ts";
import { asked } from "./worlds.ts";

export const NODES = ["node-1", "node-2", "node-3"];
const { nodeName: _, schedule: _1, intent: _2, progress: _3, ...template } = asked().spec;

interface Tweak extends Partial<Omit<RollingMaintenanceFacts, "spec" | "status">> {
  readonly spec?: Partial<RollingMaintenanceSpec>;
  readonly status?: Partial<RollingMaintenanceStatus>;
}

/** Returns the RollingMaintenance `kernel`, which has three nodes and has not started. */
export function rolling({ spec, status, ...tweak }: Tweak = {}): RollingMaintenanceFacts {
  return {
    name: "kernel",
    uid: "uid-of-kernel",
    resourceVersion: "7",
    createdAt: NOW.getTime() - 600_000,
    isCommands: false,
    ...tweak,
    spec: {
      nodes: { names: NODES },
      intent: "Evacuate",
      progress: "Running",
      schedule: {},
      maxUnavailable: 1,
      nextNode: "WhenUncordoned",
      nodeTimeoutSeconds: 3600,
      whenNodeFails: "Stop",
      steering: "None",
      template,
      ...spec,
    },
    status: { nodes: [], ...status },
  };
}

export type Phases = readonly NodeRow["phase"][];

/** Returns a RollingMaintenance that started ten minutes ago. `phases` are the phases of its nodes. */
export function underWay(phases: Phases, { spec = {}, status = {}, ...tweak }: Tweak = {}): RollingMaintenanceFacts {
  const bare = rolling({ spec, ...tweak });
  const nodes = phases.map((phase, at): NodeRow => {
    const name = NODES[at] ?? "";
    if (phase === "Pending" || phase === "Skipped") return { name, phase };
    return { name, phase, nodeEvacuation: evacuationName(bare, name), startTime: time(-600) };
  });
  return rolling({ spec, ...tweak, status: { phase: "Running", startTime: time(-600), nodes, ...status } });
}

export function partOf(
  rm: RollingMaintenanceFacts,
  nodeName: string,
  status: Partial<NodeEvacuationStatus>,
): NodeEvacuationFacts {
  const name = evacuationName(rm, nodeName);
  return asked({ name, uid: `uid-of-${name}`, owner: { name: rm.name, uid: rm.uid }, spec: { nodeName }, status });
}

export function partsOf(rm: RollingMaintenanceFacts): readonly NodeEvacuationFacts[] {
  return rm.status.nodes.flatMap(({ name, phase }) => {
    if (phase === "Pending" || phase === "Starting" || phase === "Skipped") return [];
    return [partOf(rm, name, { phase: phase === "Returned" ? "Evacuated" : phase })];
  });
}

export const backNode = (name: string): NodeFacts =>
  node({ name, virtHandler: { isSchedulable: true, saidAt: time(0) } });

export interface Around {
  readonly others?: readonly RollingMaintenanceFacts[];
  readonly nodeEvacuations?: readonly NodeEvacuationFacts[];
  readonly more?: FactMap;
  readonly now?: Date;
}

export function nextOf(
  rm: RollingMaintenanceFacts,
  { others = [], nodeEvacuations = partsOf(rm), more = {}, now = NOW }: Around = {},
): RollingNext | "Nothing" {
  const facts = factsOf({
    rollingmaintenances: [rm, ...others],
    nodeevacuations: nodeEvacuations,
    kubevirts: [],
    ...Object.fromEntries(NODES.map((name) => [`nodes ${name}`, node({ name })])),
    ...more,
  });
  return nextOfRolling(rm.uid, facts, { settings: settings(), now })?.next ?? "Nothing";
}

/** Returns a text with the phase, the verbs of the first actions, and the phases of the nodes. */
export function inShort(next: RollingNext | "Nothing"): string {
  if (next === "Nothing") return next;
  const { phase, first = [], rows = [] } = next;
  return [phase, ...first.map(({ verb }) => verb), rows.map((row) => row.phase).join()].filter(Boolean).join(" ");
}
