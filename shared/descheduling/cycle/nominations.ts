/** Collects the pods that a policy's plugins want to evict. Upstream: pkg/descheduler `runProfiles`. */
import { isFinal, isLauncher, isMigrationTarget, keyOf, matches } from "../../kube/objects.ts";
import { COMPONENT_LABEL, LAUNCHER_COMPONENT } from "../../kube/names.ts";
import { vmiOf, type Vmis } from "./in-progress.ts";
import type { DeschedulerPolicy, EnabledPlugin } from "./policy.ts";
import type { ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { renderTarget } from "../../preflight/next-pod.ts";
import type { Settings } from "../../settings/settings.ts";
import type { Evictor, EvictorWorld, Nomination, PluginWorld, Verdict } from "../plugins/plugin.ts";

export interface Nominated extends Nomination {
  readonly profile: string;
  readonly plugin: string;
}

export interface NominationWorld extends Omit<EvictorWorld, "nodes" | "podsOn" | "nextPod" | "replicasOf"> {
  readonly nodes: readonly ScheduledNode[];
  readonly pods: readonly ScheduledPod[];
  /** VMIs, keyed by `namespace/name`. Contains at least the VMIs of all launcher pods. */
  readonly vmis: Vmis;
  readonly settings: Pick<Settings, "rendering">;
}

/** The minimum number of nodes. The pods of a single node cannot move to another node. */
const FEWEST_NODES = 2;

export function* nominate(policy: DeschedulerPolicy, w: NominationWorld): Generator<Nominated, void, Verdict> {
  const nodes = nodesSelected(policy, w.nodes);
  if (nodes.length < FEWEST_NODES) return;
  const ready = w.nodes.filter((node) => node.ready);
  const everywhere: EvictorWorld = { ...w, nodes: ready, ...indexesOf(w.pods), nextPod: nextPodIn(w) };
  const profiles = policy.profiles.map((profile) => {
    const evictor = sparing(profile.evictor(everywhere), w.vmis);
    return { ...profile, world: { ...everywhere, nodes, evictor } };
  });
  for (const extensionPoint of ["deschedule", "balance"] as const) {
    for (const { name, plugins, world } of profiles) {
      const enabled = plugins.filter((plugin) => plugin.extensionPoint === extensionPoint);
      for (const plugin of enabled) yield* nominateBy(plugin, name, world);
    }
  }
}

/** Returns the Ready nodes that the policy selects. Includes cordoned nodes. */
export function nodesSelected(
  { nodeSelector }: DeschedulerPolicy,
  nodes: readonly ScheduledNode[],
): readonly ScheduledNode[] {
  return nodes.filter((node) => node.ready && (nodeSelector === undefined || matches(nodeSelector, node.labels)));
}

function nextPodIn({ nodes, vmis, settings }: NominationWorld): EvictorWorld["nextPod"] {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  return (pod) => {
    const vmi = isLauncher(pod) ? vmiOf(pod, vmis) : undefined;
    return vmi === undefined ? { pod, cpu: {} } : renderTarget(pod, vmi, byName.get(pod.nodeName), settings);
  };
}

function indexesOf(pods: readonly ScheduledPod[]): Pick<EvictorWorld, "podsOn" | "replicasOf"> {
  const byNode = Map.groupBy(pods, (pod) => pod.nodeName);
  const ownedPods = () =>
    pods.flatMap(({ namespace, owners }) => owners.map(({ uid }) => keyOf({ namespace, name: uid })));
  let byOwner: ReadonlyMap<string, readonly unknown[]> | undefined;
  return {
    podsOn: (node) => byNode.get(node) ?? [],
    replicasOf(namespace, ownerUID) {
      byOwner ??= Map.groupBy(ownedPods(), (owner) => owner);
      return byOwner.get(keyOf({ namespace, name: ownerUID }))?.length ?? 0;
    },
  };
}

/** Protects launcher pods whose eviction would not move a VM: migration targets, ended pods, and pods without a VMI. */
function sparing(evictor: Evictor, vmis: Vmis): Evictor {
  const isSpared = (pod: ScheduledPod): boolean => {
    if (isEndedLauncher(pod)) return true;
    if (!isLauncher(pod)) return false;
    const vmi = vmiOf(pod, vmis);
    return vmi === undefined || isMigrationTarget(pod, vmi);
  };
  return { ...evictor, filter: (pod) => !isSpared(pod) && evictor.filter(pod) };
}

function isEndedLauncher(pod: ScheduledPod): boolean {
  return isFinal(pod) && pod.labels[COMPONENT_LABEL] === LAUNCHER_COMPONENT;
}

function* nominateBy(plugin: EnabledPlugin, profile: string, world: PluginWorld): Generator<Nominated, void, Verdict> {
  const nominations = plugin.nominate(world);
  for (let next = nominations.next(); next.done !== true;) {
    const verdict = yield { ...next.value, profile, plugin: plugin.name };
    next = nominations.next(verdict);
  }
}
