/**
 * Tests on which nodes a pod fits. Runs examples of kube-scheduler's tests against the preflight and the sandbox's
 * scheduler.
 */
import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../../infra/sandbox/index.ts";
import {
  apart,
  type Expression,
  fitsByPreflight,
  fitsByScheduler,
  gpu,
  type Labels,
  nodeOf,
  podOf,
  podTerm,
  type PodTweak,
  requesting,
  type Spec,
} from "./scheduling.ts";

const nodeTerms = (...terms: { matchExpressions?: Expression[]; matchFields?: Expression[] }[]): Spec => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});
const expressions = (...matchExpressions: Expression[]): Spec => nodeTerms({ matchExpressions });

const zone = { topologyKey: "zone" };

const tainted = (effect: string, value = "v"): Node => nodeOf("a", {}, { taints: [{ key: "k", value, effect }] });
const tolerating = (toleration: object): Spec => ({ tolerations: [toleration] });
const small = (...used: Record<string, string>[]): [Node[], Pod[]] => [
  [nodeOf("a", {}, {}, { cpu: "10m", memory: "20", [gpu]: "4", "hugepages-2Mi": "5" })],
  used.map((requests, i) => podOf(`p${i}`, requesting(requests), { node: "a" })),
];
const one = (labels: Labels): [Node[], Pod[]] => [[nodeOf("a", labels)], []];
const two: Node[] = [nodeOf("a", { zone: "1" }), nodeOf("b", { zone: "1" }), nodeOf("c", { zone: "2" }), nodeOf("d")];
const s1 = (node: string, spec: Spec = {}, tweak: PodTweak = {}) =>
  podOf(`on-${node}`, spec, { node, labels: { service: "s1" }, ...tweak });
const init = (...requests: Record<string, string>[]): Spec => ({
  initContainers: requests.map((r, i) => ({ name: `i${i}`, image: "x", resources: { requests: r } })),
});
/**
 * Returns a pod with a container that requests 1m CPU, and with one init container for each of `cpus`. `+2m` is a
 * sidecar.
 */
const beside = (...cpus: string[]): Spec => ({
  ...requesting({ cpu: "1m" }),
  initContainers: cpus.map((text, i) => ({
    name: `i${i}`,
    image: "x",
    resources: { requests: { cpu: text.replace("+", "") } },
    ...(text.startsWith("+") && { restartPolicy: "Always" }),
  })),
});
const gpus = (count: string, ...inits: string[]): Spec => ({
  ...requesting(count === "0" ? {} : { [gpu]: count }),
  ...init(...inits.map((n) => ({ [gpu]: n }))),
});
const S1 = { service: "s1" };
const ALL = ["a", "b", "c", "d"];

// prettier-ignore
const EXAMPLES: readonly (readonly [what: string, spec: Spec, where: readonly [readonly Node[], readonly Pod[]], fits: readonly string[], tweak?: PodTweak])[] = [
  // Upstream: kubernetes/kubernetes pkg/scheduler/framework/plugins/noderesources/fit_test.go
  ["a pod without requests fits a full node",                     {},                                             small({ cpu: "10m", memory: "20" }),   ["a"]],
  ["an init container that requests too much CPU does not fit",                { ...requesting({ cpu: "1m", memory: "1" }), ...init({ cpu: "3m", memory: "1" }) }, small({ cpu: "8m", memory: "19" }), []],
  ["the largest of several init containers counts, not their sum", { ...requesting({ cpu: "1m", memory: "1" }), ...init({ cpu: "1m" }, { cpu: "1m" }, { cpu: "1m" }) }, small({ cpu: "9m", memory: "19" }), ["a"]],
  ["an init container that requests exactly the remaining CPU fits",           { ...requesting({ cpu: "4m" }), ...init({ cpu: "5m" }) }, small({ cpu: "5m" }),         ["a"]],
  ["an init container that requests more than the remaining GPUs does not fit",                                    gpus("0", "1"),                                 small({ [gpu]: "4" }),                 []],
  ["the extended resources of two containers are added up",         { containers: ["1", "2"].map((n) => ({ name: `c${n}`, image: "x", resources: { requests: { [gpu]: "3" } } })) }, small(), []],
  // Upstream: kubernetes/kubernetes staging/src/k8s.io/component-helpers/resource/helpers_test.go, and the
  // documentation of sidecar containers
  ["a sidecar is added to the containers",                       beside("+2m"),                                  small({ cpu: "8m" }),                  []],
  ["a sidecar and a container that request exactly the remaining CPU fit",                                 beside("+2m"),                                  small({ cpu: "7m" }),                  ["a"]],
  ["a sidecar is added to a later init container",                    beside("+2m", "3m"),                            small({ cpu: "6m" }),                  []],
  ["a sidecar is not added to an earlier init container",                                 beside("3m", "+2m"),                            small({ cpu: "7m" }),                  ["a"]],
  ["a pod whose CPU fits and whose memory does not, does not fit",                          requesting({ cpu: "1m", memory: "2" }),         small({ cpu: "5m", memory: "19" }),    []],
  ["a pod does not fit if it requests more of an extended resource than there is",               requesting({ [gpu]: "10" }),                    small(),                               []],
  ["a pod does not fit if the node lacks its extended resource",       requesting({ "example.com/other": "1" }),       small(),                               []],
  ["a pod does not fit if the node no longer has its extended resource, although another pod there uses it", requesting({ "example.com/other": "1" }), small({ "example.com/other": "1" }), []],
  ["a pod does not fit if it requests more hugepages than remain",                          requesting({ "hugepages-2Mi": "2" }),           small({ "hugepages-2Mi": "4" }),       []],
  ["the overhead of a pod is added",                                        { ...requesting({ cpu: "1m" }), overhead: { cpu: "10m" } }, small(),                   []],
  ["a pod without requests does not fit beyond the maximum number of pods",                   {},                                             [[nodeOf("a", {}, {}, { pods: "1" })], [podOf("p", {}, { node: "a" })]], []],
  ["ended pods use no resources",                                requesting({ cpu: "10m" }),                     [small()[0], [podOf("p", requesting({ cpu: "10m" }), { node: "a", phase: "Succeeded" })]], ["a"]],
  // Upstream: kubernetes/kubernetes pkg/scheduler/framework/plugins/nodeaffinity/node_affinity_test.go
  ["a nodeSelector does not match a missing label",                           { nodeSelector: { foo: "bar" } },               one({}),                               []],
  ["a nodeSelector ignores further labels of a node",                { nodeSelector: { foo: "bar" } },               one({ foo: "bar", baz: "blah" }),      ["a"]],
  ["the operator In matches one of its values",                                                     expressions({ key: "foo", operator: "In", values: ["bar", "value2"] }), one({ foo: "bar" }), ["a"]],
  ["the operator Gt compares integers",                                                     expressions({ key: "version", operator: "Gt", values: ["0204"] }), one({ version: "0206" }), ["a"]],
  ["an empty term matches nothing",                          nodeTerms({ matchExpressions: [] }),            one({ foo: "bar" }),                   []],
  ["all expressions of a term must match",                        expressions({ key: "GPU", operator: "Exists" }, { key: "GPU", operator: "NotIn", values: ["AMD"] }), one({ GPU: "AMD" }), []],
  ["nodeSelector and affinity must both match",               { ...expressions({ key: "foo", operator: "Exists" }), nodeSelector: { foo: "other" } }, one({ foo: "bar" }), []],
  // Upstream: kubernetes/kubernetes pkg/scheduler/framework/plugins/tainttoleration/taint_toleration_test.go,
  // nodeunschedulable/node_unschedulable_test.go
  ["a taint without a toleration excludes a pod",                                          {},                                             [[tainted("NoSchedule")], []],         []],
  ["an equal toleration admits a pod",                                    tolerating({ key: "k", operator: "Equal", value: "v", effect: "NoSchedule" }), [[tainted("NoSchedule")], []], ["a"]],
  ["a PreferNoSchedule taint excludes no pod",                     {},                                             [[tainted("PreferNoSchedule")], []],   ["a"]],
  ["a cordoned node takes no pod",                                               {},                                             [[nodeOf("a", {}, { unschedulable: true })], []], []],
  ["a cordoned node takes a pod that tolerates it",                                    tolerating({ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }), [[nodeOf("a", {}, { unschedulable: true })], []], ["a"]],
  // Upstream: kubernetes/kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering_test.go
  ["anti-affinity excludes the node of the other pod",                           apart(podTerm(S1)),                             [two, [s1("a")]],                      ["b", "c", "d"]],
  ["anti-affinity excludes the zone of the other pod, not a node without a zone", apart(podTerm(S1, zone)),                  [two, [s1("a")]],                      ["c", "d"]],
  ["anti-affinity ignores a pod of another namespace",                  apart(podTerm(S1)),                             [two, [s1("a", {}, { namespace: "ns" })]], ALL],
  ["anti-affinity with a namespaceSelector includes other namespaces", apart(podTerm(S1, { namespaceSelector: {} })), [two, [s1("a", {}, { namespace: "ns" })]], ["b", "c", "d"]],
  ["the other pod's anti-affinity excludes its node",                  {},                                             [two, [s1("a", apart(podTerm({ app: "vm" }, zone)))]], ["c", "d"],   { labels: { app: "vm" } }],
];

describe.each([
  ["the preflight", fitsByPreflight],
  ["the sandbox's scheduler", fitsByScheduler],
] as const)("the filters of %s", (_, fits) => {
  for (const [what, spec, [nodes, pods], expected, tweak] of EXAMPLES) {
    test(what, () => {
      expect(fits(podOf("vm", spec, tweak), nodes, pods)).toEqual(expected);
    });
  }
});
