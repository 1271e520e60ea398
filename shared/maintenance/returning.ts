/**
 * Selects the VMs that return to a node after it is uncordoned. A VM returns if it has not moved again and fits on the
 * node.
 */
import { each, together } from "../facts/facts.ts";
import { ROOMY_NODES } from "../facts/views.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import { isLauncher, named } from "../kube/objects.ts";
import { selectPodsOn } from "../kube/selections.ts";
import type { NeighbourPod, PreflightPod, Volume } from "../preflight/facts.ts";
import type { FitNode } from "../preflight/fit.ts";
import { placeAll } from "../preflight/place.ts";
import { PREFLIGHT_PODS, VOLUMES } from "../preflight/views.ts";
import type { Settings } from "../settings/settings.ts";
import { ownEvacuations } from "./questions.ts";
import type { NodeWorld } from "./world.ts";

interface Away {
  readonly vmi: VmiFacts;
  readonly pod: PreflightPod;
  readonly source: FitNode;
}

export function returning(w: NodeWorld): readonly VmiFacts[] {
  const { facts, settings } = w;
  const { returnVMs, nodeName } = w.ne.spec;
  const moved = returnVMs === "Never" ? [] : ownEvacuations(w).filter(({ status }) => status.phase === "Moved");
  if (moved.length === 0) return [];
  const [node, here, away] = together(
    () => facts.get(ROOMY_NODES, named(nodeName)),
    () => facts.readable(PREFLIGHT_PODS, selectPodsOn(nodeName)).items,
    () => each(moved, (e) => awayOf(e, w)).flat(),
  );
  return node === undefined ? [] : fitting(away, { node, here, settings, volumes: volumesOf(away, w) });
}

/**
 * Returns a list with the VM. The list is empty if the VM cannot migrate now, or has left the node to which it moved.
 */
function awayOf(e: EvacuationFacts, { facts }: NodeWorld): readonly Away[] {
  const { namespace } = e;
  const vmi = facts.get("virtualmachineinstances", { namespace, name: e.spec.vmiName });
  const { targetNode } = e.status;
  if (vmi === undefined || targetNode === undefined || !isThere(vmi, e)) return [];
  const [source, pods] = together(
    () => facts.get(ROOMY_NODES, named(targetNode)),
    () => facts.readable(PREFLIGHT_PODS, { namespace, labels: { [CREATED_BY_LABEL]: vmi.uid } }).items,
  );
  const pod = pods.find((one) => isLauncher(one) && one.nodeName === targetNode);
  return pod === undefined || source === undefined ? [] : [{ vmi, pod, source }];
}

function isThere({ uid, nodeName, liveMigratable, isMigrating }: VmiFacts, { status }: EvacuationFacts): boolean {
  const isIts = uid === status.virtualMachineInstanceUID && nodeName === status.targetNode;
  return isIts && liveMigratable.migratable && !isMigrating;
}

function volumesOf(away: readonly Away[], { facts }: NodeWorld): readonly Volume[] {
  if (away.every(({ pod }) => pod.claims.length === 0)) return [];
  return facts.readable(VOLUMES).items.filter((volume) => volume !== undefined);
}

interface Destination {
  readonly node: FitNode;
  readonly here: readonly NeighbourPod[];
  readonly volumes: readonly Volume[];
  readonly settings: Settings;
}

function fitting(away: readonly Away[], { node, here, volumes, settings }: Destination): readonly VmiFacts[] {
  let otherPods = here;
  return away.flatMap(({ vmi, pod, source }) => {
    const nothing = { migrations: [], leavingElsewhere: [], settings };
    const around = { node: source, otherNodes: [node], otherPods, pods: [pod], vmis: [vmi], volumes, ...nothing };
    if (placeAll([pod], around).get(pod.uid)?.fits !== true) return [];
    otherPods = [...otherPods, { ...pod, nodeName: node.name }];
    return [vmi];
  });
}
