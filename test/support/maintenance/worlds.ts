/** Creates NodeEvacuations and related facts, changed by a test. */
import { type Kind, textOf } from "../../../shared/facts/facts.ts";
import { ROOMY_NODES, SCHEDULED_PODS } from "../../../shared/facts/views.ts";
import type {
  NodeEvacuationFacts,
  NodeEvacuationSpec,
  NodeEvacuationStatus,
  VirtualMachineFacts,
} from "../../../shared/kube/node-evacuation.ts";
import { type EvacuationFacts, isActive } from "../../../shared/kube/evacuation.ts";
import type { NamespacedName, NodeFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import type { ClusterError } from "../../../shared/kube/failures.ts";
import { keyOf, named } from "../../../shared/kube/objects.ts";
import type { Selection } from "../../../shared/kube/selection.ts";
import {
  ACTIVE_EVACUATIONS,
  MIGRATING_VMIS,
  SOME,
  selectEvacuationsFor,
  selectEvacuationsFrom,
  selectLaunchersOn,
  selectMigrationsOf,
  selectVmisOn,
  selectPodsOn,
} from "../../../shared/kube/selections.ts";
import type { VolumeAttachmentFacts } from "../../../shared/kube/schemas/storage.ts";
import { nextOfNode } from "../../../shared/maintenance/rules.ts";
import type { NodeNext, NodeWorld } from "../../../shared/maintenance/world.ts";
import type { PreflightFacts, PreflightPod } from "../../../shared/preflight/facts.ts";
import { NEIGHBOUR_PODS, PREFLIGHT_PODS, QUOTAS, VOLUMES } from "../../../shared/preflight/views.ts";
import { type FactMap, factsOf, OddList } from "../facts.ts";
import { evacuation, node, NODE, NOW, settings, time } from "../fixtures.ts";
import { facts, vmiOf } from "../preflight/fixtures.ts";

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

export function started({ status, ...tweak }: Tweak = {}): NodeEvacuationFacts {
  return asked({ ...tweak, status: { phase: "Evacuating", startTime: time(-300), ...status } });
}

export const OWNER = "kernel/uid-of-kernel";
export const CORDONED = { unschedulable: true, cordonedBy: OWNER };

/** The facts for a rule. An omitted list is empty. A test fails if a rule requests any other fact. */
export interface Situation extends Partial<Omit<NodeWorld, "facts">> {
  readonly node?: NodeFacts | undefined;
  readonly rivals?: readonly NodeEvacuationFacts[];
  readonly vmis?: readonly VmiFacts[];
  readonly evacuations?: readonly EvacuationFacts[];
  readonly others?: readonly EvacuationFacts[];
  /** VirtualMachines keyed by namespace and name. If a value is undefined, the VirtualMachine does not exist. */
  readonly vms?: Readonly<Record<string, Partial<VirtualMachineFacts> | undefined>>;
  /** Facts about the pods that remain on the node. Launcher pods are included only if a test needs them. */
  readonly left?: Partial<PreflightFacts>;
  /** Facts about the free capacity of other nodes. If they are absent, a rule that reads them fails the test. */
  readonly preflight?: PreflightFacts;
  readonly attachments?: readonly VolumeAttachmentFacts[] | ClusterError;
  readonly more?: FactMap;
}

/** Returns facts about a started NodeEvacuation. The node is cordoned and has no pods left. */
export function nodeWorld({ more = {}, ...situation }: Situation = {}): NodeWorld {
  const { ne = started(), now = NOW, isThorough = false } = situation;
  const map = { ...factsAbout(ne, situation), ...more };
  return { settings: situation.settings ?? settings(), now, ne, isThorough, facts: factsOf(map) };
}

const ask = (kind: Kind, key: NamespacedName, value: unknown) => [textOf({ kind, key }), value] as const;
const list = (kind: Kind, selection: Selection, value: unknown) => [textOf({ kind, selection }), value] as const;

function factsAbout(ne: NodeEvacuationFacts, situation: Omit<Situation, "more">): FactMap {
  const { rivals = [], vmis = [], evacuations = [], others = [], vms = {}, left = {}, preflight } = situation;
  const { attachments = [] } = situation;
  const { nodeName } = ne.spec;
  return Object.fromEntries([
    ask("nodes", named(nodeName), "node" in situation ? situation.node : node(CORDONED)),
    list("nodeevacuations", {}, [ne, ...rivals]),
    list("evacuations", selectEvacuationsFor(ne.name), evacuations),
    list("volumeattachments", {}, attachments),
    ...virtualMachines(vms),
    ...podsOn(nodeName, facts({ pods: [], ...left, vmis, evacuations: [...evacuations, ...others] }), left.vmis),
    ...(preflight === undefined ? [] : roomAround(nodeName, preflight)),
  ]);
}

function virtualMachines(vms: NonNullable<Situation["vms"]>) {
  return Object.entries(vms).map(([key, vm]) => {
    const [namespace = "", name = ""] = key.split("/");
    return ask("virtualmachines", { namespace, name }, vm && { namespace, name, runStrategy: "Always", ...vm });
  });
}

/** Returns the facts about pods on the node. `arriving` lists VMIs whose launcher pods are already on the node. */
function podsOn(name: string, f: PreflightFacts, arriving: readonly VmiFacts[] = []) {
  const vmiOfPod = ({ namespace, annotations }: PreflightPod) => {
    const key = { namespace, name: annotations["kubevirt.io/domain"] ?? "" };
    return ask(
      "virtualmachineinstances",
      key,
      [...f.vmis, ...arriving].find((vmi) => keyOf(vmi) === keyOf(key)),
    );
  };
  return [
    ...f.pods.map(vmiOfPod),
    list("virtualmachineinstances", selectVmisOn(name), f.vmis),
    list("evacuations", ACTIVE_EVACUATIONS, f.evacuations.filter(isActive)),
    list("evacuations", selectEvacuationsFrom(name), []),
    list(PREFLIGHT_PODS, selectPodsOn(name), f.pods),
    list(SCHEDULED_PODS, selectLaunchersOn(name), f.pods),
    list("poddisruptionbudgets", {}, f.budgets),
    list(QUOTAS, {}, f.quotas),
    ...selectMigrationsOf([...f.vmis, ...arriving].filter(isMarkedOrMoving)).map((selection) =>
      list("virtualmachineinstancemigrations", selection, f.migrations),
    ),
    ask(ROOMY_NODES, named(name), f.node),
  ];
}

const isMarkedOrMoving = (vmi: VmiFacts) => vmi.isMigrating || vmi.evacuationNodeName !== undefined;

function roomAround(name: string, f: PreflightFacts) {
  const [unread] = f.unread;
  const unlike = { "spec.nodeName": ["", name], "status.phase": ["Succeeded", "Failed"] };
  return [
    ...podsOn(name, f),
    list(ROOMY_NODES, {}, [f.node, ...f.otherNodes]),
    list(NEIGHBOUR_PODS, { unlike }, unread === undefined ? f.otherPods : new OddList(f.otherPods, unread)),
    list("virtualmachineinstances", MIGRATING_VMIS, f.migratingElsewhere),
    list(VOLUMES, {}, f.volumes),
    list("virtualmachineinstancemigrations", SOME, f.finished),
    list("kubevirts", {}, []),
  ];
}

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

export function nextOf(situation: Situation = {}): NodeNext {
  const next = nextOfNode(nodeWorld(situation));
  return next === "Nothing" ? { phase: "Gone", message: "Nothing" } : next;
}

/** Returns the phase, the verbs of the actions before the write of the status (`first`), and the verbs of `chains`. */
export function inShort({ phase, message, first = [], chains = [] }: NodeNext): string {
  if (message === "Nothing") return "Nothing";
  const verbs = [...first, ...chains.flat()].map(({ verb }) => verb);
  return [phase, ...verbs].join(" ");
}
