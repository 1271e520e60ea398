/** Creates a node under pressure with VMs, and a node with free memory. */
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { FitNode, FitPod } from "../../../shared/preflight/fit.ts";
import type { LauncherPod } from "../../../shared/preflight/next-pod.ts";
import {
  planPressure,
  type PressureWorld,
  type VmOnNode,
  type CandidateNode,
} from "../../../shared/pressure/pressure.ts";
import type { Settings } from "../../../shared/settings/settings.ts";
import { evacuation, node, NODE, NOW, only, pod, settings, vmi } from "../fixtures.ts";

export const GIB = 2 ** 30;

export const PRESSURED = node({ pressures: ["MemoryPressure"] });
export function candidateNode(name: string, memory: number, tweak: Partial<FitNode> = {}): CandidateNode {
  const allocatable = { memory, pods: 110 };
  return { node: { ...node({ name }), labels: {}, allocatable, ...tweak }, room: new Map(Object.entries(allocatable)) };
}

export const ROOM = candidateNode("node02", 8 * GIB);

export function asking(memory: number): FitPod & Pick<LauncherPod, "antiAffinity"> {
  return { requests: { memory }, placement: { nodeSelector: {} }, antiAffinity: [] };
}

export function relieving(tweak: Parameters<typeof settings>[0] = {}): Settings {
  return settings({ featureGates: ["NodePressureEvictionLiveMigration"], ...tweak });
}

interface Sizes {
  readonly priority?: number;
  readonly request?: number;
  readonly guest?: number;
}

/** Returns a VM with this name on the node under pressure. The VM requests 1 GiB of memory. */
export function vmOnNode(
  name: string,
  { priority = 0, request = 1, guest = 1 }: Sizes = {},
  of: Partial<VmiFacts> = {},
): VmOnNode {
  const uid = `pod-${name}`;
  const subject = vmi({ name, uid: `uid-${name}`, activePods: { [uid]: NODE }, guestMemory: guest * GIB, ...of });
  return {
    vmi: subject,
    pod: { ...pod({ uid, name: `virt-launcher-${name}-aaaaa`, priority }), ...asking(request * GIB) },
  };
}

export function evacuationOf(
  name: string,
  { spec, status, ...tweak }: Parameters<typeof evacuation>[0] = {},
): EvacuationFacts {
  const identity = { virtualMachineInstanceUID: `uid-${name}`, podUID: `pod-${name}` };
  return evacuation({
    name: `${name}-1`,
    uid: `evacuation-${name}`,
    ...tweak,
    spec: { vmiName: name, cause: "NodePressure", pod: { uid: `pod-${name}` }, ...spec },
    status: { ...identity, ...status },
  });
}

export function pressureWorld(vmsOnNode: readonly VmOnNode[], tweak: Partial<PressureWorld> = {}): PressureWorld {
  return {
    pressured: [{ node: PRESSURED, labels: {}, vmsOnNode, evacuations: [] }],
    candidateNodes: [ROOM],
    signals: [],
    evacuations: [],
    settings: relieving(),
    now: NOW,
    ...tweak,
  };
}

export function leaving(vmsOnNode: readonly VmOnNode[], tweak: Partial<PressureWorld> = {}): readonly string[] {
  return only("Mark", planPressure(pressureWorld(vmsOnNode, tweak)).chains.flat()).map((mark) => mark.vmi.name);
}
