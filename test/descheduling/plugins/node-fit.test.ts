/** NodeFit: upstream's cases, and the rules one by one. */
import { describe, expect, test } from "vitest";
import type { PodTerm } from "../../../shared/kube/placement.ts";
import type { ScheduledNode, ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { nodeFit } from "../../../shared/descheduling/plugins/node-fit.ts";
import { ANYWHERE, evictorWorld, labelled, node, pod, requirement, taint, term, toleration } from "../fixtures.ts";

interface Facts {
  readonly pod?: Partial<ScheduledPod>;
  readonly node?: Partial<ScheduledNode>;
  readonly others?: readonly ScheduledPod[];
}

const OTHER = { nodeName: "n2" };

/** Whether a pod on n1 could go to n2. */
function fits(facts: Facts): boolean {
  const subject = pod("p", facts.pod);
  const nodes = [node("n1"), node("n2", facts.node)];
  return nodeFit(nodes, evictorWorld({ nodes, pods: [subject, ...(facts.others ?? [])] })).fitsAnyOther(subject);
}

const wantsDesired = { placement: { ...ANYWHERE, required: [term(requirement("desired", "In", "yes"))] } };
const labels = { desired: "yes" };
const t = taint("t");
const STORAGE = "ephemeral-storage";
const asks = (amounts: Readonly<Record<string, number>>) => ({ requests: amounts });
const taking = (amounts: Readonly<Record<string, number>>) => [pod("other", { ...OTHER, requests: amounts })];
const has = (amounts: Readonly<Record<string, number>>) => ({
  allocatable: { cpu: 4000, memory: 8, pods: 12, ...amounts },
});

// prettier-ignore
test.each([
  ["nothing against it",                          {},                                                                               true],
  ["required affinity met",                       { pod: wantsDesired, node: { labels } },                                          true],
  ["required affinity not met",                   { pod: wantsDesired, node: { labels: { desired: "no" } } },                       false],
  ["nodeSelector not met",                        { pod: { placement: { ...ANYWHERE, nodeSelector: labels } } },                    false],
  ["as wanted, but cordoned",                     { pod: wantsDesired, node: { labels, unschedulable: true } },                     false],
  ["NoSchedule",                                  { node: { taints: [t] } },                                                        false],
  ["NoExecute",                                   { node: { taints: [taint("t", { effect: "NoExecute" })] } },                      false],
  ["PreferNoSchedule",                            { node: { taints: [taint("t", { effect: "PreferNoSchedule" })] } },               true],
  ["NoSchedule, tolerated",                       { node: { taints: [t] }, pod: { tolerations: [toleration("t")] } },               true],
  ["insufficient cpu",                            { pod: asks({ cpu: 2000 }), node: has({}), others: taking({ cpu: 3000 }) },       false],
  ["just enough cpu",                             { pod: asks({ cpu: 1000 }), node: has({}), others: taking({ cpu: 3000 }) },       true],
  ["insufficient memory",                         { pod: asks({ memory: 5 }), node: has({}), others: taking({ memory: 4 }) },       false],
  ["insufficient storage",                        { pod: asks({ [STORAGE]: 10 }), node: has({ [STORAGE]: 20 }), others: taking({ [STORAGE]: 11 }) }, false],
  ["insufficient of a custom resource",           { pod: asks({ "a/b": 10 }), node: has({ "a/b": 15 }), others: taking({ "a/b": 10 }) },  false],
  ["a resource that the node does not have",      { pod: asks({ "a/b": 1 }), node: has({}) },                                       false],
  ["none asked for of one it does not have",      { pod: asks({ "a/b": 0 }), node: has({}), others: taking({ "a/b": 1 }) },         true],
  ["a resource that the pod does not ask for",    { pod: asks({ cpu: 1 }), node: has({}), others: taking({ memory: 99 }) },         true],
  ["no place for one more pod",                   { node: has({ pods: 1 }), others: taking({}) },                                   false],
  ["what has ended takes nothing",                { node: has({ pods: 1 }), others: [pod("other", { ...OTHER, phase: "Failed" })] }, true],
] as const)("%s", (_, facts, expected) => expect(fits(facts)).toBe(expected));

const web = (tweak: Partial<ScheduledPod> = {}) => [pod("web", { ...OTHER, labels: { app: "web" }, ...tweak })];

describe("anti-affinity", () => {
  const near: PodTerm = { topologyKey: "host", namespaces: [], selector: labelled({ app: "web" }) };
  const shy = (tweak: Partial<PodTerm> = {}) => ({
    antiAffinity: [{ ...near, ...tweak }],
    labels: { app: "web" },
  });
  const host = { labels: { host: "n2" } };
  // prettier-ignore
  test.each([
    ["a pod that it selects is there",              { pod: shy(), node: host, others: web() },                                                  false],
    ["but the node is in no such domain",           { pod: shy(), others: web() },                                                              true],
    ["no pod is there",                             { pod: shy(), node: host },                                                                 true],
    ["another pod is there",                        { pod: shy(), node: host, others: web({ labels: {} }) },                                    true],
    ["it is on another node of the domain",         { pod: shy(), node: host, others: web({ nodeName: "n3" }) },                                true],
    ["it has ended",                                { pod: shy(), node: host, others: web({ phase: "Succeeded" }) },                            true],
    ["it is in another namespace",                  { pod: shy(), node: host, others: web({ namespace: "other" }) },                            true],
    ["it is in another namespace, which is named",  { pod: shy({ namespaces: ["other"] }), node: host, others: web({ namespace: "other" }) },   false],
    ["only another namespace is named",             { pod: shy({ namespaces: ["other"] }), node: host, others: web() },                         true],
    ["the other is shy, not this one",              { node: host, others: web(shy()) },                                                         true],
  ] as const)("%s", (_, facts, expected) => expect(fits(facts)).toBe(expected));
});

describe("any node, and any other", () => {
  const full = { cpu: 50, memory: 0, pods: 1 };
  // prettier-ignore
  test.each([
    // own node                                             fitsAny  fitsAnyOther
    ["has room to spare",          {},                        true,    false],
    ["is full, which is its own doing", { allocatable: full }, true,   false],
    ["is cordoned",                { unschedulable: true },   false,   false],
    ["is tainted",                 { taints: [t] },           false,   false],
  ] as const)("its own node %s", (_, tweak, any, other) => {
    const subject = pod("p");
    const nodes = [node("n1", tweak)];
    const fit = nodeFit(nodes, evictorWorld({ nodes, pods: [subject] }));
    expect([fit.fitsAny(subject), fit.fitsAnyOther(subject)]).toEqual([any, other]);
  });

  test("a pod does not keep itself from its own node", () => {
    const antiAffinity = [{ topologyKey: "host", namespaces: [], selector: labelled({}) }];
    const subject = pod("p", { antiAffinity });
    const nodes = [node("n1", { labels: { host: "n1" } })];
    expect(nodeFit(nodes, evictorWorld({ nodes, pods: [subject] })).fitsAny(subject)).toBe(true);
  });

  test("what is found for one pod does not decide for the next", () => {
    const nodes = [node("n1"), node("n2", { labels, allocatable: { pods: 1 } }), node("n3", { taints: [t] })];
    const tolerant = { tolerations: [toleration("t")] };
    const pods = [
      pod("a", tolerant),
      pod("b"),
      pod("c", { ...tolerant, ...wantsDesired }),
      pod("d", { ...tolerant, requests: { cpu: 2001 } }),
      pod("e", { ...OTHER, ...wantsDesired }),
    ];
    const cluster = evictorWorld({ nodes, pods });
    const answers = [true, false, false, false, false];
    expect(pods.map(nodeFit(nodes, cluster).fitsAnyOther)).toEqual(answers);
    expect(pods.toReversed().map(nodeFit(nodes, cluster).fitsAnyOther)).toEqual(answers.toReversed());
  });
});
