/** VMs that return to a node once it is uncordoned: those that run where they have moved to, and that fit there like any VM that moves. */
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { type Client, named } from "../kube/client.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import { isLauncher } from "../kube/objects.ts";
import { NodeWithResources } from "../kube/schemas/scheduled-pod.ts";
import type { NeighbourPod, PreflightPod, Volume } from "../preflight/facts.ts";
import type { FitNode } from "../preflight/fit.ts";
import { placeAll } from "../preflight/place.ts";
import { PersistentVolume } from "../preflight/kinds.ts";
import { preflightPodSchema } from "../preflight/preflight-pod.ts";
import type { Settings } from "../settings/settings.ts";
import type { NodeWorld } from "./world.ts";

interface Away {
  readonly vmi: VmiFacts;
  readonly pod: PreflightPod;
  /** The node on which the VM runs now. */
  readonly source: FitNode;
}

export async function returning(
  { ne, evacuations, settings }: NodeWorld,
  cluster: Client,
): Promise<readonly VmiFacts[]> {
  const moved = evacuations.filter(({ status }) => status.phase === "Moved");
  if (ne.spec.returnVMs === "Never" || moved.length === 0) return [];
  const { nodeName } = ne.spec;
  const [node, here, found] = await Promise.all([
    cluster.get("nodes", named(nodeName), { as: NodeWithResources }),
    cluster.list("pods", { fields: { "spec.nodeName": nodeName }, as: preflightPodSchema() }),
    Promise.all(moved.map((e) => thereStill(e, cluster))),
  ]);
  const away = await withPods(
    found.filter((vmi) => vmi !== undefined),
    cluster,
  );
  return node === undefined ? [] : fitting(away, { node, here, settings, volumes: await volumesOf(away, cluster) });
}

async function thereStill({ namespace, spec, status }: EvacuationFacts, cluster: Client) {
  const vmi = await cluster.get("virtualmachineinstances", { namespace, name: spec.vmiName });
  const isThere = vmi?.uid === status.virtualMachineInstanceUID && vmi?.nodeName === status.targetNode;
  return isThere && vmi?.liveMigratable.migratable && !vmi.isMigrating ? vmi : undefined;
}

async function withPods(vmis: readonly VmiFacts[], cluster: Client): Promise<readonly Away[]> {
  const names = [...new Set(vmis.flatMap(({ nodeName }) => nodeName ?? []))];
  const nodes = names.map(async (name) => await cluster.get("nodes", named(name), { as: NodeWithResources }));
  const sources = (await Promise.all(nodes)).filter((one) => one !== undefined);
  const found = vmis.map(async (vmi): Promise<readonly Away[]> => {
    const labels = { [CREATED_BY_LABEL]: vmi.uid };
    const pods = await cluster.list("pods", { namespace: vmi.namespace, labels, as: preflightPodSchema() });
    const pod = pods.find((one) => isLauncher(one) && one.nodeName === vmi.nodeName);
    const source = sources.find(({ name }) => name === vmi.nodeName);
    return pod === undefined || source === undefined ? [] : [{ vmi, pod, source }];
  });
  return (await Promise.all(found)).flat();
}

async function volumesOf(away: readonly Away[], cluster: Client): Promise<readonly Volume[]> {
  if (away.every(({ pod }) => pod.claims.length === 0)) return [];
  const volumes = await cluster.list("persistentvolumes", { as: PersistentVolume });
  return volumes.filter((volume) => volume !== undefined);
}

interface Destination {
  readonly node: FitNode;
  readonly here: readonly NeighbourPod[];
  readonly volumes: readonly Volume[];
  readonly settings: Settings;
}

/** One after another: each takes its place. */
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
