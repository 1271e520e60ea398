/** Whether a VM certainly finds its CPU on another node: only where KubeVirt's labels are the same. */
import { expect, test } from "vitest";
import type { PreflightFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { NODE } from "../../support/fixtures.ts";
import { facts, GIB, launcher, node, plainPod, vmiOf } from "../../support/preflight/fixtures.ts";

const INTEL = { "cpu-vendor.node.kubevirt.io/Intel": "true", "cpu-model.node.kubevirt.io/Haswell": "true" };
const AMD = { "cpu-vendor.node.kubevirt.io/AMD": "true", "cpu-model.node.kubevirt.io/Haswell": "true" };
const host = (model: string, feature = "vmx") => ({
  ...INTEL,
  [`host-model-cpu.node.kubevirt.io/${model}`]: "true",
  [`host-model-required-features.node.kubevirt.io/${feature}`]: "true",
});
const source = node(NODE, { labels: host("Skylake") });
const other = (name: string, labels: object, tweak: Parameters<typeof node>[1] = {}) =>
  node(name, { ...tweak, labels: { ...labels } });

// prettier-ignore
test.each<[string, PreflightFacts["otherNodes"], verdict: string, to: string | undefined]>([
  ["the same",                           [other("node02", host("Skylake"))],                                                    "WillSucceed",  "node02"],
  ["beside labels about other things",   [other("node02", { ...host("Skylake"), "cpu-feature.node.kubevirt.io/x": "true", zone: "2" })], "WillSucceed", "node02"],
  ["another vendor",                     [other("node02", AMD)],                                                                "Unknown", "node02"],
  ["another host model",                 [other("node02", host("Broadwell"))],                                                  "Unknown", "node02"],
  ["another required feature",           [other("node02", host("Skylake", "hle"))],                                             "Unknown", "node02"],
  ["other models",                       [other("node02", { ...host("Skylake"), "cpu-model.node.kubevirt.io/Penryn": "true" })], "Unknown", "node02"],
  ["no labels",                          [other("node02", {})],                                                                 "Unknown", "node02"],
  ["one node of the same, with less room", [other("node02", AMD), other("node03", host("Skylake"), { allocatable: { memory: 3 * GIB } })], "WillSucceed", "node03"],
  ["one node of the same, without room", [other("node02", AMD), other("node03", host("Skylake"), { allocatable: { memory: GIB } })], "Unknown", "node02"],
  ["others, and no room there",          [other("node02", AMD, { allocatable: { memory: GIB } })],                              "NoRoom",       undefined],
])("%s", (_, otherNodes, verdict, to) => {
  const answer = preflight(facts({ node: source, otherNodes }));
  expect({ verdict: answer.verdict, to: answer.pods[0]?.room?.node }).toEqual({ verdict, to });
  expect(answer.unknown.length > 0).toBe(verdict === "Unknown");
});

test("the second VM of two has room on another CPU only", () => {
  const otherNodes = [other("node02", AMD), other("node03", host("Skylake"), { allocatable: { memory: 3 * GIB } })];
  const pods = ["a", "b"].map((name) => launcher(name));
  const vmis = ["a", "b"].map((name) => vmiOf(name));
  expect(preflight(facts({ node: source, otherNodes, pods, vmis }))).toMatchObject({
    verdict: "Unknown",
    unknown: [`whether VM apps/b finds its CPU on the node that has room: CPU labels differ from those of ${NODE}`],
  });
});

test("that of ordinary pods is no matter", () => {
  const f = facts({ node: source, otherNodes: [other("node02", AMD)], pods: [plainPod("app")], vmis: [] });
  expect(preflight(f).verdict).toBe("WillSucceed");
});
