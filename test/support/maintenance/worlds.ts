/** NodeEvacuations and what is around them, minimal plus one tweak. */
import type {
  NodeEvacuationFacts,
  NodeEvacuationSpec,
  NodeEvacuationStatus,
} from "../../../shared/kube/node-evacuation.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import { nextOfNode } from "../../../shared/maintenance/rules.ts";
import type { NodeNext, NodeWorld } from "../../../shared/maintenance/world.ts";
import { evacuation, node, NODE, NOW, settings, time } from "../fixtures.ts";
import { vmiOf } from "../preflight/fixtures.ts";

type DeepPartial<T> = { readonly [K in keyof T]?: T[K] extends object ? DeepPartial<T[K]> : T[K] };

interface Tweak extends Partial<Omit<NodeEvacuationFacts, "spec" | "status">> {
  readonly spec?: DeepPartial<NodeEvacuationSpec>;
  readonly status?: Partial<NodeEvacuationStatus>;
}

const SPEC: NodeEvacuationSpec = {
  nodeName: NODE,
  intent: "Evacuate",
  progress: "Running",
  schedule: {},
  startIf: "Always",
  virtualMachines: { order: "ByPriority", whenBlocked: "Wait", whenAttemptsFail: "Wait", ownersChoice: "Respected" },
  forceShutdowns: false,
  otherPods: "Evict",
  returnVMs: "Never",
};

/** `kernel`, of node01, which has not started. */
export function asked({ spec = {}, status, ...tweak }: Tweak = {}): NodeEvacuationFacts {
  const { virtualMachines, schedule, ...rest } = spec;
  return {
    name: "kernel",
    uid: "uid-of-kernel",
    resourceVersion: "7",
    createdAt: NOW.getTime() - 600_000,
    isCommands: false,
    ...tweak,
    spec: {
      ...SPEC,
      ...rest,
      schedule: { ...schedule },
      virtualMachines: { ...SPEC.virtualMachines, ...virtualMachines },
    },
    status: { blockers: [], outcomes: [], conditions: [], ...status },
  };
}

/** Five minutes ago. */
export function started({ status, ...tweak }: Tweak = {}): NodeEvacuationFacts {
  return asked({ ...tweak, status: { phase: "Evacuating", startTime: time(-300), ...status } });
}

export const OWNER = "kernel/uid-of-kernel";
export const CORDONED = { unschedulable: true, cordonedBy: OWNER };

/** Started, on its own cordon, with nothing left. */
export function nodeWorld(tweak: Partial<NodeWorld> = {}): NodeWorld {
  return {
    settings: settings(),
    now: NOW,
    ne: started(),
    node: node(CORDONED),
    rivals: [],
    before: {},
    vmis: [],
    evacuations: [],
    others: [],
    vms: new Map(),
    obstacles: new Map(),
    bound: new Map(),
    kept: new Map(),
    candidates: [],
    returning: [],
    gone: new Map(),
    ...tweak,
  };
}

/** Of VM `name`, its own. */
export function own(
  name: string,
  { spec, status }: { readonly spec?: object; readonly status?: object } = {},
): EvacuationFacts {
  const part = { name: "kernel", uid: "uid-of-kernel" };
  const about = { vmiName: name, cause: "NodeEvacuation", pod: { uid: `pod-${name}` }, nodeEvacuation: part } as const;
  const identity = { virtualMachineInstanceUID: `vmi-${name}`, podUID: `pod-${name}`, sourceNode: NODE };
  return evacuation({
    name: `${name}-1`,
    uid: `evac-${name}`,
    spec: { ...about, ...spec },
    status: { ...identity, ...status },
  });
}

export const pinnedVm = (name: string) =>
  vmiOf(name, { liveMigratable: { migratable: false, reason: "DisksNotLiveMigratable" } });

export function nextOf(tweak: Partial<NodeWorld> = {}): NodeNext {
  const next = nextOfNode(nodeWorld(tweak));
  return next === "Nothing" ? { phase: "Gone", message: "Nothing" } : next;
}

/** The phase, then what is done before the status is written, then the independent chains. */
export function inShort({ phase, message, first = [], chains = [] }: NodeNext): string {
  if (message === "Nothing") return "Nothing";
  const verbs = [...first, ...chains.flat()].map(({ verb }) => verb);
  return [phase, ...verbs].join(" ");
}
