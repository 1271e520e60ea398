/** A node with its labels and what pods may ask of it. */
import { expect, test } from "vitest";
import { NodeWithResources } from "../../../../shared/kube/schemas/scheduled-pod.ts";

const node = (status: object, spec: object = {}, labels?: object) => ({
  metadata: { name: "node01", uid: "u", resourceVersion: "1", ...(labels && { labels }) },
  spec,
  status,
});

const FACTS = {
  name: "node01",
  ready: false,
  unschedulable: false,
  taints: [],
  pressures: [],
  labels: {},
  allocatable: {},
};
const taint = { key: "a", effect: "NoSchedule" };
const READY = [{ type: "Ready", status: "True" }];

// prettier-ignore
test.each<[string, unknown, object]>([
    ["nothing is known of",  node({}),                                                                     {}],
    ["is ready",             node({ conditions: READY }),                                                  { ready: true }],
    ["is not",               node({ conditions: [{ type: "Ready", status: "Unknown" }] }),                 {}],
    ["is cordoned",          node({}, { unschedulable: true, taints: [taint] }),                           { unschedulable: true, taints: [taint] }],
    ["has labels",           node({}, {}, { zone: "a" }),                                                  { labels: { zone: "a" } }],
    ["has resources",        node({ allocatable: { cpu: "3920m", memory: "7911Mi", pods: "110", "ephemeral-storage": "1.5" } }), { allocatable: { cpu: 3920, memory: 7911 * 2 ** 20, pods: 110, "ephemeral-storage": 2 } }],
    ["… written as numbers", node({ allocatable: { cpu: 3.92, memory: 8295284736, pods: 110 } }), { allocatable: { cpu: 3920, memory: 7911 * 2 ** 20, pods: 110 } }],
    ["has reserved some",    node({ allocatable: { cpu: "1" }, capacity: { cpu: "2", pods: "110" } }),     { allocatable: { cpu: 1000 } }],
    ["says no more",         node({ allocatable: {}, capacity: { cpu: "2" } }),                            { allocatable: { cpu: 2000 } }],
  ])("a node that %s", (_, object, expected) => {
    expect(NodeWithResources.parse(object)).toEqual({ ...FACTS, ...expected });
  });
