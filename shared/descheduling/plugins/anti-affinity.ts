/**
 * RemovePodsViolatingInterPodAntiAffinity evicts pods whose required anti-affinity matches another pod of the topology
 * domain.
 */
import type { PodTerm, ScheduledNode, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { isFinal, ownValue } from "../../kube/objects.ts";
import { CREATED_BY_LABEL } from "../../kube/names.ts";
import { selects } from "../../preflight/fit.ts";
import { mapping } from "./fields.ts";
import { isSelected, oncePer, selection } from "./nominate.ts";
import type { ArgumentsOf, Nomination, Plugin, PluginWorld, Verdict } from "./plugin.ts";
import { byNodeName, podOrder, SORTERS } from "./sort.ts";
import * as z from "zod/mini";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

const Arguments = z.lazy(() => mapping({ ...selection }));
export type Arguments = ArgumentsOf<typeof Arguments>;

export const antiAffinity: Plugin<Arguments> = {
  name: "RemovePodsViolatingInterPodAntiAffinity",
  extensionPoint: "deschedule",
  arguments: Arguments,
  *nominate(args, world) {
    const excludes = neighbourhood(args, world);
    /** UIDs of nominated pods. If two pods exclude each other, only one of them is nominated. */
    const gone = new Set<string>();
    for (const node of world.nodes.toSorted(byNodeName)) {
      const verdict = yield* nominateOn(node, { args, world, gone, excludes });
      if (verdict === "TotalLimit") return;
    }
  },
};

interface Run {
  readonly args: Arguments;
  readonly world: PluginWorld;
  readonly gone: Set<string>;
  readonly excludes: (pod: ScheduledPod, gone: ReadonlySet<string>) => boolean;
}

function* nominateOn(node: ScheduledNode, run: Run): Generator<Nomination, Verdict | undefined, Verdict> {
  const { args, world, gone, excludes } = run;
  const { evictor } = world;
  const pods = world.podsOn(node.name).filter((pod) => pod.antiAffinity.length > 0 && isCandidate(pod, run));
  for (const pod of pods.toSorted(podOrder(args, world, SORTERS.LowestPriority, SORTERS.LowestQoS))) {
    if (!excludes(pod, gone) || !evictor.preEvictionFilter(pod)) continue;
    const verdict = yield { pod, reason: MESSAGES.antiAffinity(node.name) };
    if (verdict === "Accepted") gone.add(pod.uid);
    if (verdict === "NodeLimit" || verdict === "TotalLimit") return verdict;
  }
  return undefined;
}

function isCandidate(pod: ScheduledPod, { args, world }: Run): boolean {
  return !isFinal(pod) && isSelected(args, pod) && world.evictor.filter(pod);
}

/**
 * Returns a function that checks a pod's anti-affinity against other pods. Ignores pods that are leaving, and pods that
 * the arguments do not select.
 */
function neighbourhood(args: Arguments, world: PluginWorld): Run["excludes"] {
  const labelsOf = new Map(world.nodes.map(({ name, labels }) => [name, labels]));
  const pods = world.nodes.flatMap(({ name }) => world.podsOn(name));
  const staying = pods.filter(
    (pod) => !isFinal(pod) && !pod.deleting && isSelected(args, pod) && !world.isInProgress(pod),
  );
  const domainOf = (pod: ScheduledPod, key: string) => ownValue(labelsOf.get(pod.nodeName) ?? {}, key);
  const byDomain = oncePer(
    (key: string) => key,
    (key) => Map.groupBy(staying, (pod) => domainOf(pod, key)),
  );
  const selectedBy = oncePer(
    ({ pod, term, domain }: Asked) => JSON.stringify([pod.namespace, term, domain]),
    ({ pod, term, domain }) => (byDomain(term.topologyKey).get(domain) ?? []).filter((one) => selects(term, pod, one)),
  );
  return (pod, gone) =>
    pod.antiAffinity.some((term) => {
      const domain = domainOf(pod, term.topologyKey);
      if (domain === undefined) return false;
      return selectedBy({ pod, term, domain }).some((other) => !gone.has(other.uid) && !isSame(pod, other));
    });
}

interface Asked {
  readonly pod: ScheduledPod;
  readonly term: PodTerm;
  readonly domain: string;
}

/** The source pod and the target pod of a migration are treated as the same pod. */
function isSame(pod: ScheduledPod, other: ScheduledPod): boolean {
  const vmi = pod.labels[CREATED_BY_LABEL];
  return pod.uid === other.uid || (vmi !== undefined && vmi === other.labels[CREATED_BY_LABEL]);
}
