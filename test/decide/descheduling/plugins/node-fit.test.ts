/** Tests NodeFit with the test cases of kubernetes-sigs/descheduler, and each rule separately. */
import { describe, expect, test } from "vitest";
import type { PodTerm, ScheduledNode, ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { nodeFit } from "../../../../shared/descheduling/plugins/node-fit.ts";
import {
  ANYWHERE,
  evictorWorld,
  labelled,
  node,
  pod,
  requirement,
  taint,
  term,
  toleration,
} from "../../../support/descheduling/fixtures.ts";

interface Facts {
  readonly pod?: Partial<ScheduledPod>;
  readonly node?: Partial<ScheduledNode>;
  readonly others?: readonly ScheduledPod[];
}

const OTHER = { nodeName: "n2" };

function fits(facts: Facts): boolean {
  const subject = pod("p", facts.pod);
  const nodes = [node("n1"), node("n2", facts.node)];
  return nodeFit(nodes, evictorWorld({ nodes, pods: [subject, ...(facts.others ?? [])] })).fitsAnyOther(subject);
}

const wantsDesired = { placement: { ...ANYWHERE, required: [term(requirement("desired", "In", "yes"))] } };
const labels = { desired: "yes" };
const t = taint("t");
const host = { labels: { host: "n2" } };
const apart: PodTerm = { topologyKey: "host", namespaces: [], selector: labelled({}) };

// prettier-ignore
test.each([
  ["no obstacle",                                                            {},                                                                        true],
  ["an unmet required affinity",                                             { pod: wantsDesired, node: { labels: { desired: "no" } } },                false],
  ["insufficient CPU",                                                       { pod: { requests: { cpu: 2001 } } },                                      false],
  ["a pod that takes the only place",                                        { node: { allocatable: { pods: 1 } }, others: [pod("other", OTHER)] },     false],
  ["an ended pod on the only place",                                         { node: { allocatable: { pods: 1 } }, others: [pod("other", { ...OTHER, phase: "Failed" })] }, true],
  ["a pod whose anti-affinity excludes others",                              { node: host, others: [pod("shy", { ...OTHER, antiAffinity: [apart] })] },  false],
  ["a pod whose anti-affinity names a topology that the node lacks",         { others: [pod("shy", { ...OTHER, antiAffinity: [apart] })] },              true],
] as const)("given %s on the other node, the pod fits there: $2", (_, facts, expected) => expect(fits(facts)).toBe(expected));

describe("a pod's own node", () => {
  const full = { cpu: 50, memory: 0, pods: 1 };
  // prettier-ignore
  test.each([
    // own node                                             fitsAny  fitsAnyOther
    ["fits, if the node has room to spare",          {},                        true,    false],
    ["fits, if only the pod itself fills the node", { allocatable: full }, true,   false],
    ["does not fit, if the node is cordoned",                { unschedulable: true },   false,   false],
  ] as const)("%s", (_, tweak, any, other) => {
    const subject = pod("p");
    const nodes = [node("n1", tweak)];
    const fit = nodeFit(nodes, evictorWorld({ nodes, pods: [subject] }));
    expect([fit.fitsAny(subject), fit.fitsAnyOther(subject)]).toEqual([any, other]);
  });

  test("is judged for each pod separately", () => {
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
