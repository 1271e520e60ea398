/** Tests which anti-affinity the next pod of a VM has, and which pods it excludes. */
import { expect, test } from "vitest";
import type { LabelSelector } from "../../../shared/kube/facts.ts";
import { PLAIN } from "../../../shared/kube/guest.ts";
import type { PodTerm } from "../../../shared/kube/scheduled-pod.ts";
import type { NeighbourPod, NodeVerdict } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { facts, launcher, neighbour, node, vmiOf } from "../../support/preflight/fixtures.ts";

const term = (selector: LabelSelector): PodTerm => ({
  topologyKey: "kubernetes.io/hostname",
  namespaces: [],
  selector,
});
const matching = (key: string, operator: string, values: string[]) =>
  term({ matchLabels: {}, matchExpressions: [{ key, operator, values }] });
const APP_X = term({ matchLabels: { app: "x" }, matchExpressions: [] });

interface Terms {
  readonly pod?: readonly PodTerm[];
  readonly vmi?: readonly PodTerm[];
  readonly other?: Partial<NeighbourPod>;
}

// prettier-ignore
test.each<[string, Terms, NodeVerdict]>([
  ["is uncertain if only its current pod has it",    { pod: [APP_X] },                                                    "Unknown"],
  ["is that of the VMI, although its current pod has none",     { vmi: [APP_X] },                                                    "NoRoom"],
  ["ignores ended pods",                             { vmi: [APP_X], other: { phase: "Succeeded" } },                     "WillSucceed"],
  ["matches any value of a label with Exists",         { vmi: [matching("app", "Exists", [])] },                            "NoRoom"],
  ["matches each of several values with In",           { vmi: [matching("app", "In", ["y", "x"])] },                        "NoRoom"],
  ["can be that of another pod",                     { other: { antiAffinity: [term({ matchLabels: { "kubevirt.io": "virt-launcher" }, matchExpressions: [] })] } }, "NoRoom"],
  ["can be that of another pod, with Exists",    { other: { antiAffinity: [matching("kubevirt.io", "Exists", [])] } }, "NoRoom"],
])("the anti-affinity of the next pod %s", (_, { pod = [], vmi = [], other = {} }, verdict) => {
  const f = facts({
    pods: [launcher("a", { antiAffinity: pod })],
    vmis: [vmiOf("a", { asks: { ...PLAIN, cpuModel: "host-passthrough", antiAffinity: vmi } })],
    otherNodes: [node("node02"), node("node03", { unschedulable: true })],
    otherPods: [neighbour("y", "node03"), neighbour("x", "node02", other)],
  });
  expect(preflight(f).verdict).toBe(verdict);
});
