/**
 * Tests that preflight and the sandbox's scheduler select the same nodes for pods in random clusters, for one pod and
 * for all pods.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Node, Pod } from "../../../infra/sandbox/index.ts";
import { PersistentVolume } from "../../../shared/preflight/kinds.ts";
import { CREATED_BY_LABEL } from "../../../shared/kube/names.ts";
import { NodeWithResources } from "../../../shared/kube/schemas/scheduled-pod.ts";
import { facts } from "../../support/preflight/fixtures.ts";
import { placeAll } from "../../../shared/preflight/place.ts";
import {
  apart,
  fitsByScheduler,
  gpu,
  HOST,
  type Labels,
  nodeOf,
  podOf,
  podTerm,
  readPod,
  requesting,
  type Spec,
  volumeIn,
  claiming,
} from "./scheduling.ts";

const anyLabels = fc.record({ app: fc.constantFrom("x", "y") });
const anyTerms = fc.array(
  fc
    .record({ app: fc.constantFrom("x", "y"), topologyKey: fc.constantFrom(HOST, "zone"), elsewhere: fc.boolean() })
    .map(({ app, topologyKey, elsewhere }) =>
      podTerm({ app }, { topologyKey, ...(elsewhere && { namespaces: ["other"] }) }),
    ),
  { maxLength: 2 },
);
/** One volume is available only in some zones. The other volume is available on every node. */
const VOLUMES = [volumeIn("d", ["1"]), volumeIn("e", undefined)];
const anySpec = fc
  .record({
    cpu: fc.integer({ min: 0, max: 6 }),
    gpus: fc.constantFrom(0, 0, 1),
    apart: fc.oneof({ arbitrary: fc.constant([]), weight: 1 }, { arbitrary: anyTerms, weight: 1 }),
    zone: fc.constantFrom(undefined, undefined, "1", "2"),
    tolerates: fc.boolean(),
    claims: fc.oneof({ arbitrary: fc.constant([]), weight: 3 }, { arbitrary: fc.subarray(["d", "e"]), weight: 1 }),
  })
  .map((s): Spec => ({
    ...requesting({ cpu: String(s.cpu), ...(s.gpus > 0 && { [gpu]: String(s.gpus) }) }),
    ...apart(...s.apart),
    ...(s.zone !== undefined && { nodeSelector: { zone: s.zone } }),
    ...claiming(...s.claims),
    ...(s.tolerates && { tolerations: [{ operator: "Exists" as const }] }),
  }));
const anyNode = fc.record({
  zone: fc.constantFrom(undefined, "1", "1", "2"),
  unschedulable: fc.constantFrom(false, false, false, true),
  tainted: fc.constantFrom(false, false, true),
  gpus: fc.nat(2),
  pods: fc.constantFrom("1", "3", "110"),
});
const anyCluster = fc.record({
  nodes: fc.array(anyNode, { minLength: 1, maxLength: 5 }),
  pods: fc.array(
    fc.record({
      spec: anySpec,
      labels: anyLabels,
      at: fc.nat(4),
      deleting: fc.boolean(),
      namespace: fc.constantFrom("default", "other"),
    }),
    { maxLength: 8 },
  ),
  spec: anySpec,
  labels: anyLabels,
});

type AnyCluster = typeof anyCluster extends fc.Arbitrary<infer T> ? T : never;

/** The node lifecycle controller adds this taint to a cordoned node. */
const CORDONED = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };

function nodesOf({ nodes }: AnyCluster): readonly Node[] {
  return nodes.map((n, i) => {
    const taints = [...(n.tainted ? [{ key: "k", effect: "NoSchedule" }] : []), ...(n.unschedulable ? [CORDONED] : [])];
    const labels: Labels = n.zone === undefined ? {} : { zone: n.zone };
    return nodeOf(`n${i}`, labels, { unschedulable: n.unschedulable, taints }, { [gpu]: String(n.gpus), pods: n.pods });
  });
}

function podsOf({ pods }: AnyCluster, { length }: readonly Node[]): readonly Pod[] {
  return pods.map(({ spec, at, ...tweak }, i) => podOf(`p${i}`, spec, { ...tweak, node: `n${at % length}` }));
}

const anyDrain = fc.record({
  cluster: anyCluster,
  vms: fc.array(fc.record({ spec: anySpec, labels: anyLabels }), { minLength: 1, maxLength: 5 }),
});

test("for any cluster, the scheduler can place a pod exactly if preflight places the pod, and on the same node", () => {
  const seen = { fits: 0, not: 0 };
  fc.assert(
    fc.property(anyDrain, ({ cluster, vms }) => {
      const nodes = nodesOf(cluster);
      const drained = nodeOf("drained", { zone: "1" }, { unschedulable: true, taints: [CORDONED] });
      const moving = vms.map(({ spec, labels }, i) => {
        return podOf(`vm${i}`, spec, { labels: { ...labels, [CREATED_BY_LABEL]: `vm${i}` }, node: "drained" });
      });
      const others = podsOf(cluster, nodes);
      const [node, ...otherNodes] = [drained, ...nodes].map((one) => NodeWithResources.parse(one));
      if (node === undefined) throw new Error("there is no node");
      const [pods, otherPods] = [moving.map(readPod), others.map(readPod)];
      const volumes = VOLUMES.flatMap((volume) => PersistentVolume.parse(volume) ?? []);
      const found = placeAll(pods, { ...facts(), node, otherNodes, otherPods, pods, volumes, vmis: [] });
      const there = [...others, ...moving];
      for (const uid of found.keys()) {
        const pod = moving.find(({ metadata }) => metadata.uid === uid);
        const room = found.get(uid);
        if (pod === undefined || room === undefined) throw new Error("another pod was placed");
        const unbound = podOf(uid, { ...pod.spec }, { labels: pod.metadata.labels ?? {} });
        const places = fitsByScheduler(unbound, [...nodes, drained], there, VOLUMES).filter(
          (name) => name !== "drained",
        );
        expect({ fits: room.fits, nodes: room.nodes }).toEqual({ fits: places.length > 0, nodes: places.length });
        seen[room.fits ? "fits" : "not"] += 1;
        if (room.node === undefined) continue;
        expect(places).toContain(room.node);
        // The source pod is gone before the next VM is placed.
        there.splice(there.indexOf(pod), 1);
        there.push(podOf(uid, { ...pod.spec, nodeName: room.node }, { labels: pod.metadata.labels ?? {} }));
      }
    }),
    { seed: 20_261_122, numRuns: 1000 },
  );
  expect(Math.min(seen.fits, seen.not)).toBeGreaterThan(50);
});
