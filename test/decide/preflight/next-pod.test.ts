/** Tests which nodes can run the next pod of a VM. KubeVirt's migration controller selects the nodes, mainly by CPU. */
import { keyOf } from "../../../shared/kube/objects.ts";
import { nodeWorld } from "../../support/maintenance/worlds.ts";
import { describe, expect, test } from "vitest";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { type GuestAsks, PLAIN, type NextStart } from "../../../shared/kube/guest.ts";
import { restartObstacle } from "../../../shared/maintenance/forecast.ts";
import type { NodeVerdict, PreflightPod } from "../../../shared/preflight/facts.ts";
import type { FitNode } from "../../../shared/preflight/fit.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import type { Rendering, Settings } from "../../../shared/settings/settings.ts";
import { NODE, settings } from "../../support/fixtures.ts";
import { facts, GIB, launcher, node, vmiOf } from "../../support/preflight/fixtures.ts";

const label = (kind: string, name: string) => ({ [`${kind}.node.kubevirt.io/${name}`]: "true" });
const INTEL = label("cpu-vendor", "Intel");
const can = (...names: readonly string[]) =>
  Object.assign({}, ...names.map((name) => label("cpu-model-migration", name)));
const has = (...names: readonly string[]) => Object.assign({}, ...names.map((name) => label("cpu-feature", name)));
const SKYLAKE = {
  ...INTEL,
  ...label("host-model-cpu", "Skylake"),
  ...label("host-model-required-features", "vmx"),
  ...can("Skylake"),
  ...has("vmx"),
};
const source = node(NODE, { labels: SKYLAKE });
const other = (labels: object, memory = 8 * GIB) => node("node02", { labels: { ...labels }, allocatable: { memory } });

type Selector = Readonly<Record<string, string>>;

/** A VM of this model whose launcher selects that; the other node has these labels. */
function world(cpuModel: string | undefined, nodeSelector: Selector, labels: object, from = source) {
  const pods = [launcher("a", { placement: { nodeSelector } })];
  const vmis = [vmiOf("a", { asks: { ...PLAIN, ...(cpuModel !== undefined && { cpuModel }) } })];
  return facts({ node: from, otherNodes: [other(labels)], pods, vmis });
}

const NEWER = { ...INTEL, ...label("host-model-cpu", "Icelake"), ...can("Skylake", "Icelake"), ...has("vmx", "hle") };
const AMD = { ...label("cpu-vendor", "AMD"), ...can("Skylake"), ...has("vmx") };

describe("a migration", () => {
  // prettier-ignore
  test.each<[string, model: string | undefined, launcher: Selector, labels: object, lacks: string]>([
    ["host-model, a newer one that knows the old",      "host-model",       {},                 NEWER, ""],
    ["host-model, one without the model",               "host-model",       {},                 { ...INTEL, ...has("vmx") },   "cpu-model-migration.node.kubevirt.io/Skylake"],
    ["host-model, one without a required feature",      "host-model",       {},                 { ...INTEL, ...can("Skylake") }, "cpu-feature.node.kubevirt.io/vmx"],
    ["host-model, of another vendor",                   "host-model",       {},                 AMD,                           "cpu-vendor.node.kubevirt.io/Intel"],
    ["host-model that has migrated: as it was then",    "host-model",       { ...INTEL, ...can("Penryn") }, { ...INTEL, ...can("Penryn") }, ""],
    ["no model: as KubeVirt, the vendor only",          undefined,          {},                 INTEL, ""],
  ])("%s", (_, ...[model, nodeSelector, labels, lacks]) => {
    const { verdict, pods } = preflight(world(model, nodeSelector, labels));
    expect({ verdict, message: pods[0]?.room?.message }).toEqual(
      lacks === ""
        ? { verdict: "WillSucceed" }
        : { verdict: "NoRoom", message: `no other node has room for it: CPU (without ${lacks})` },
    );
  });

  test("off a node whose model nobody knows: KubeVirt creates no target pod", () => {
    const { verdict, pods } = preflight(world("host-model", {}, SKYLAKE, node(NODE, { labels: INTEL })));
    expect({ verdict, message: pods[0]?.room?.message }).toEqual({
      verdict: "NoRoom",
      message: "no other node has room for it: CPU (without host-model-cpu.node.kubevirt.io/)",
    });
  });

  test("of two nodes the one with the CPU and with room counts", () => {
    const vm = world("host-model", {}, AMD);
    const to = (memory: number) =>
      preflight({
        ...vm,
        otherNodes: [...vm.otherNodes, node("node03", { labels: SKYLAKE, allocatable: { memory } })],
      });
    expect(to(8 * GIB).pods[0]?.room?.node).toBe("node03");
    expect(to(GIB)).toMatchObject({ verdict: "NoRoom" });
  });
});

// prettier-ignore
test.each<[string, own: Selector | undefined, verdict: string]>([
  ["a hostname that only its last migration asked for does not count", undefined,                            "WillSucceed"],
  ["a hostname that the VM asks for does",                             { "kubernetes.io/hostname": NODE },   "WillBlock"],
])("%s", (_, own, verdict) => {
  const f = world("host-passthrough", { "kubernetes.io/hostname": NODE }, SKYLAKE);
  const vmis = f.vmis.map((vmi) => ({ ...vmi, asks: { ...vmi.asks, ...(own && { nodeSelector: own }) } }));
  expect(preflight({ ...f, vmis }).verdict).toBe(verdict);
});

// prettier-ignore
test.each<[string, model: string, launcher: Selector, obstacle: string | undefined]>([
  ["what the last migration of a host-model VM has added does not count", "host-model", { ...INTEL, ...can("Penryn") },  undefined],
  ["a named model does",                                                  "Skylake",    label("cpu-model", "Skylake"),    "no other node has room for it: NodeAffinity"],
])("a restart: %s", (_, model, selector, obstacle) => {
  const f = world(model, selector, AMD);
  expect(f.vmis.map((vmi) => restartObstacle(vmi, f, nodeWorld({ vms: { [keyOf(vmi)]: undefined } })))).toEqual([obstacle]);
});

const [POOL_A, POOL_B] = [{ pool: "a" }, { pool: "b" }];
const to = (labels: object, memory = 8 * GIB, cpu = 8000) =>
  node("node02", { labels: { ...labels }, allocatable: { memory, cpu } });
const asks = (tweak: Partial<GuestAsks>): GuestAsks => ({ ...PLAIN, cpuModel: "host-passthrough", ...tweak });
const rendering = (tweak: Partial<Rendering>) => settings({ rendering: { ...settings().rendering, ...tweak } });
const TAINTED = { taints: [{ key: "gpu", effect: "NoSchedule" }] };
const TOLERANT = [{ key: "gpu", operator: "Exists" }];
const HOST = { nodeSelector: { "kubernetes.io/hostname": NODE } };
const ON_A = { required: [{ matchExpressions: [{ key: "pool", operator: "In", values: ["a"] }], matchFields: [] }] };

describe("the next pod", () => {
  interface Case {
    readonly vmi?: Partial<VmiFacts>;
    readonly pod?: Partial<PreflightPod>;
    readonly node?: FitNode;
    readonly settings?: Settings;
  }

  // prettier-ignore
  test.each<[string, Case, NodeVerdict, string?]>([
    ["the VMI selects another pool than its pod",     { vmi: { asks: asks({ nodeSelector: POOL_B }) }, pod: { placement: { nodeSelector: POOL_A } }, node: to(POOL_B) }, "WillSucceed"],
    ["… and there is no such node",                   { vmi: { asks: asks({ nodeSelector: POOL_B }) }, pod: { placement: { nodeSelector: {} } }, node: to(POOL_A) },     "WillBlock"],
    ["the VMI's affinity counts, not its pod's",      { vmi: { asks: asks({}) }, pod: { placement: { nodeSelector: {}, ...ON_A } }, node: to(POOL_B) },                 "WillSucceed"],
    ["… required of the VMI",                         { vmi: { asks: asks(ON_A) }, node: to(POOL_B) },                                                                   "WillBlock"],
    ["a hostname of its last migration",              { pod: { placement: HOST }, node: to({}) },                                                                        "WillSucceed"],
    ["a label that its pod alone selects",            { pod: { placement: { nodeSelector: POOL_A } }, node: to(POOL_B) },                                                "Unknown", "nodeSelector pool of its pod"],
    ["… and that every node has",                     { pod: { placement: { nodeSelector: POOL_A } }, node: to(POOL_A) },                                                "WillSucceed"],
    ["the VMI tolerates what its pod does not",       { vmi: { asks: asks({ tolerations: TOLERANT }) }, node: { ...to({}), ...TAINTED } },                               "WillSucceed"],
    ["its pod alone tolerates the taint",             { pod: { tolerations: TOLERANT }, node: { ...to({}), ...TAINTED } },                                               "Unknown", "tolerations of its pod for gpu"],
    ["a node with an obsolete host model",            { vmi: { asks: asks({ cpuModel: "host-model" }) }, node: to({ ...SKYLAKE, "node-labeller.kubevirt.io/obsolete-host-model": "true" }) }, "NoRoom"],
    ["memory that is being plugged in",               { vmi: { asks: asks({ guestMemory: 6 * GIB }), currentMemory: 2 * GIB }, node: to({}, 4 * GIB) },                   "NoRoom"],
    ["… with room for it",                            { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: 2 * GIB }, node: to({}, 4 * GIB) },                   "WillSucceed"],
    ["… half of which is requested",                  { vmi: { asks: asks({ guestMemory: 5 * GIB }), currentMemory: 2 * GIB }, node: to({}, 4 * GIB), settings: rendering({ memoryOvercommit: 200 }) }, "WillSucceed"],
    ["CPUs that are being plugged in",                { vmi: { asks: asks({ vcpus: 24 }), currentVcpus: 2 }, node: to({}, 8 * GIB, 2000) },                               "NoRoom"],
    ["… with room for them",                          { vmi: { asks: asks({ vcpus: 8 }), currentVcpus: 2 }, node: to({}, 8 * GIB, 2000) },                                "WillSucceed"],
    ["memory of which the VMI does not say how much is missing", { vmi: { asks: asks({ guestMemory: 2 * GIB }), hotplugs: ["HotMemoryChange"] }, node: to({}) }, "Unknown", "spec.domain.memory (HotMemoryChange)"],
    ["… or says that nothing is",                     { vmi: { asks: asks({ guestMemory: 2 * GIB }), currentMemory: 2 * GIB, hotplugs: ["HotMemoryChange"] }, node: to({}) }, "Unknown", "spec.domain.memory (HotMemoryChange)"],
    ["… of which it does",                            { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: 2 * GIB, hotplugs: ["HotMemoryChange"] }, node: to({}, 4 * GIB) }, "WillSucceed"],
    ["CPUs of which it does not say how many",        { vmi: { asks: asks({ vcpus: 2 }), hotplugs: ["HotVCPUChange"] }, node: to({}) },                                  "Unknown", "spec.domain.cpu (HotVCPUChange)"],
    ["… of which it does",                            { vmi: { asks: asks({ vcpus: 4 }), currentVcpus: 2, hotplugs: ["HotVCPUChange"] }, node: to({}, 8 * GIB) },        "WillSucceed"],
    ["CPUs at another ratio than its pod was given",  { vmi: { asks: asks({ vcpus: 4 }) }, node: to({}, 8 * GIB, 2000), settings: rendering({ cpuAllocationRatio: 1 }) }, "NoRoom"],
    ["an overhead that the KubeVirt CR multiplies",   { vmi: { asks: asks({ guestMemory: GIB }) }, node: to({}, 2.5 * GIB), settings: rendering({ overheadRatio: 2 }) },  "Unknown", "additionalGuestMemoryOverheadRatio of the KubeVirt CR"],
    ["… with room for the most",                      { vmi: { asks: asks({ guestMemory: GIB }) }, node: to({}, 4 * GIB), settings: rendering({ overheadRatio: 2 }) },    "WillSucceed"],
    ["a label that the KubeVirt CR selects",          { node: to({}), settings: rendering({ nodeSelectors: POOL_A }) },                                                  "NoRoom"],
  ])("of a migration: %s", (_, given, verdict, field) => {
    const f = facts({
      node: node(NODE, { labels: SKYLAKE }),
      pods: [launcher("a", given.pod ?? {})],
      vmis: [vmiOf("a", { asks: asks({}), ...given.vmi })],
      otherNodes: [given.node ?? to({})],
      settings: given.settings ?? settings(),
    });
    const labelled = f.otherNodes.map((one) => ({ ...one, labels: { ...INTEL, ...one.labels } }));
    const found = preflight({ ...f, otherNodes: labelled });
    expect(found.verdict).toBe(verdict);
    expect(found.unknown.join()).toContain(field ?? "");
  });

  // prettier-ignore
  test.each<[string, Partial<NextStart>, obstacle: string | undefined, VmiFacts["hotplugs"]?]>([
    ["from a template that has not changed",               { template: asks({ guestMemory: 2 * GIB }) },                         undefined],
    ["with more memory than a node has",                   { template: asks({ guestMemory: 300 * GIB }) },                       "Resources"],
    ["with less memory",                                   { template: asks({ guestMemory: GIB }) },                             undefined],
    ["in a pool without nodes",                            { template: asks({ guestMemory: 2 * GIB, nodeSelector: POOL_B }) },   "NodeAffinity"],
    ["with a host port's equal, a required pod affinity",  { template: asks({ guestMemory: 2 * GIB, unchecked: ["podAffinity"] }) }, "cannot be judged: podAffinity"],
    ["by an instance type that has not changed",           { template: PLAIN, hasInstancetype: true },                           undefined],
    ["by an instance type, while memory is plugged in",  { template: PLAIN, hasInstancetype: true },                           "spec.domain.memory (HotMemoryChange)", ["HotMemoryChange"]],
    ["from a template, while memory is plugged in",        { template: asks({ guestMemory: 2 * GIB }) },                         undefined, ["HotMemoryChange"]],
    ["by an instance type, and KubeVirt asks for a restart", { template: PLAIN, hasInstancetype: true, restartRequired: true }, "spec.instancetype (RestartRequired)"],
  ])("of a start: %s", (...[, start, obstacle, hotplugs]) => {
    const vmi = vmiOf("a", { asks: asks({ guestMemory: 2 * GIB }), ...(hotplugs && { hotplugs }) });
    const f = facts({ pods: [launcher("a")], vmis: [vmi], otherNodes: [to({})] });
    const vm = { runStrategy: "Always", start: { template: undefined, hasInstancetype: false, restartRequired: false, ...start } };
    const why = restartObstacle(vmi, f, nodeWorld({ vms: { "apps/a": vm } }));
    expect(why ?? "").toContain(obstacle ?? "");
    expect(why === undefined).toBe(obstacle === undefined);
  });
});
