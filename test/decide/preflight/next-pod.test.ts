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

function world(cpuModel: string | undefined, nodeSelector: Selector, labels: object, from = source) {
  const pods = [launcher("a", { placement: { nodeSelector } })];
  const vmis = [vmiOf("a", { asks: { ...PLAIN, ...(cpuModel !== undefined && { cpuModel }) } })];
  return facts({ node: from, otherNodes: [other(labels)], pods, vmis });
}

const NEWER = { ...INTEL, ...label("host-model-cpu", "Icelake"), ...can("Skylake", "Icelake"), ...has("vmx", "hle") };
const AMD = { ...label("cpu-vendor", "AMD"), ...can("Skylake"), ...has("vmx") };

describe("a migration of a VM", () => {
  // prettier-ignore
  test.each<[string, model: string | undefined, launcher: Selector, labels: object, lacks: string]>([
    ["with host-model fits a newer node that supports the old model",    "host-model",       {},                 NEWER, ""],
    ["with host-model fits no node without the model",                   "host-model",       {},                 { ...INTEL, ...has("vmx") },   "cpu-model-migration.node.kubevirt.io/Skylake"],
    ["with host-model fits no node without a required feature",          "host-model",       {},                 { ...INTEL, ...can("Skylake") }, "cpu-feature.node.kubevirt.io/vmx"],
    ["with host-model fits no node of another vendor",                   "host-model",       {},                 AMD,                           "cpu-vendor.node.kubevirt.io/Intel"],
    ["with host-model that has migrated keeps its first model",          "host-model",       { ...INTEL, ...can("Penryn") }, { ...INTEL, ...can("Penryn") }, ""],
    ["without a model requires only the vendor, as in KubeVirt",         undefined,          {},                 INTEL, ""],
    ["with host-model requires the model, although its pod selects another KubeVirt label", "host-model", { "kubevirt.io/schedulable": "true" }, { ...INTEL, ...has("vmx"), "kubevirt.io/schedulable": "true" }, "cpu-model-migration.node.kubevirt.io/Skylake"],
    ["with host-model requires no model if its pod selects a CPU feature, as in KubeVirt", "host-model", has("vmx"), { ...INTEL, ...has("vmx") }, ""],
  ])("%s", (_, ...[model, nodeSelector, labels, lacks]) => {
    const { verdict, pods } = preflight(world(model, nodeSelector, labels));
    expect({ verdict, message: pods[0]?.room?.message }).toEqual(
      lacks === ""
        ? { verdict: "WillSucceed" }
        : { verdict: "NoRoom", message: `no other node has room for it: CPU (without ${lacks})` },
    );
  });

  test("with host-model from a node of unknown model has no target pod", () => {
    const { verdict, pods } = preflight(world("host-model", {}, SKYLAKE, node(NODE, { labels: INTEL })));
    expect({ verdict, message: pods[0]?.room?.message }).toEqual({
      verdict: "NoRoom",
      message: "no other node has room for it: CPU (without host-model-cpu.node.kubevirt.io/)",
    });
  });

  test("fits the node that has both its CPU and room", () => {
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
  ["a hostname that only the last migration added does not restrict the next migration", undefined,                            "WillSucceed"],
  ["a hostname that the VM selects restricts the next migration",                        { "kubernetes.io/hostname": NODE },   "WillBlock"],
])("%s", (_, own, verdict) => {
  const f = world("host-passthrough", { "kubernetes.io/hostname": NODE }, SKYLAKE);
  const vmis = f.vmis.map((vmi) => ({ ...vmi, asks: { ...vmi.asks, ...(own && { nodeSelector: own }) } }));
  expect(preflight({ ...f, vmis }).verdict).toBe(verdict);
});

// prettier-ignore
test.each<[string, model: string, launcher: Selector, obstacle: string | undefined]>([
  ["ignores labels that the last migration of a host-model VM added", "host-model", { ...INTEL, ...can("Penryn") },  undefined],
  ["obeys a named model",                                             "Skylake",    label("cpu-model", "Skylake"),    "no other node has room for it: NodeAffinity"],
  ["obeys a KubeVirt label that its current pod selects",             "host-passthrough", { "hyperv.node.kubevirt.io/vapic": "true" }, "no other node has room for it: NodeAffinity"],
  ["obeys a CPU feature if the VM has no host-model",                 "host-passthrough", has("hle"),                       "no other node has room for it: NodeAffinity"],
  ["ignores the CPU model of an older spec",                          "host-passthrough", label("cpu-model", "Penryn"),     undefined],
])("a restart %s", (_, model, selector, obstacle) => {
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
    ["selects the VMI's pool, not its current pod's",     { vmi: { asks: asks({ nodeSelector: POOL_B }) }, pod: { placement: { nodeSelector: POOL_A } }, node: to(POOL_B) }, "WillSucceed"],
    ["selects the VMI's pool, of which there is no node",                   { vmi: { asks: asks({ nodeSelector: POOL_B }) }, pod: { placement: { nodeSelector: {} } }, node: to(POOL_A) },     "WillBlock"],
    ["has the VMI's affinity, not its current pod's",      { vmi: { asks: asks({}) }, pod: { placement: { nodeSelector: {}, ...ON_A } }, node: to(POOL_B) },                 "WillSucceed"],
    ["has the VMI's required affinity",                         { vmi: { asks: asks(ON_A) }, node: to(POOL_B) },                                                                   "WillBlock"],
    ["does not select a hostname that the last migration added",              { pod: { placement: HOST }, node: to({}) },                                                                        "WillSucceed"],
    ["might or might not select a label that only its current pod selects",            { pod: { placement: { nodeSelector: POOL_A } }, node: to(POOL_B) },                                                "Unknown", "nodeSelector pool of its current pod"],
    ["fits if every node has the label that only its current pod selects",                     { pod: { placement: { nodeSelector: POOL_A } }, node: to(POOL_A) },                                                "WillSucceed"],
    ["has the VMI's tolerations",       { vmi: { asks: asks({ tolerations: TOLERANT }) }, node: { ...to({}), ...TAINTED } },                               "WillSucceed"],
    ["might or might not have a toleration that only its current pod has",             { pod: { tolerations: TOLERANT }, node: { ...to({}), ...TAINTED } },                                               "Unknown", "tolerations of its current pod for gpu"],
    ["of a host-model VM fits no node with an obsolete host model",            { vmi: { asks: asks({ cpuModel: "host-model" }) }, node: to({ ...SKYLAKE, "node-labeller.kubevirt.io/obsolete-host-model": "true" }) }, "NoRoom"],
    ["requests memory that is being plugged in",               { vmi: { asks: asks({ guestMemory: 6 * GIB }), currentMemory: 2 * GIB }, node: to({}, 4 * GIB) },                   "NoRoom"],
    ["requests memory that is being plugged in, with enough room",                            { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: 2 * GIB }, node: to({}, 4 * GIB) },                   "WillSucceed"],
    ["requests memory that is being plugged in, divided by the overcommit",                  { vmi: { asks: asks({ guestMemory: 5 * GIB }), currentMemory: 2 * GIB }, node: to({}, 4 * GIB), settings: rendering({ memoryOvercommit: 200 }) }, "WillSucceed"],
    ["requests CPUs that are being plugged in",                { vmi: { asks: asks({ vcpus: 24 }), currentVcpus: 2 }, node: to({}, 8 * GIB, 2000) },                               "NoRoom"],
    ["requests CPUs that are being plugged in, with enough room",                          { vmi: { asks: asks({ vcpus: 8 }), currentVcpus: 2 }, node: to({}, 8 * GIB, 2000) },                                "WillSucceed"],
    ["requests an unknown amount of memory if the VMI's status does not show it", { vmi: { asks: asks({ guestMemory: 2 * GIB }), hotplugs: ["HotMemoryChange"] }, node: to({}) }, "Unknown", "spec.domain.memory (HotMemoryChange)"],
    ["requests an unknown amount of memory if the VMI's status shows no difference",                     { vmi: { asks: asks({ guestMemory: 2 * GIB }), currentMemory: 2 * GIB, hotplugs: ["HotMemoryChange"] }, node: to({}) }, "Unknown", "spec.domain.memory (HotMemoryChange)"],
    ["requests the memory that the VMI's status shows",                            { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: 2 * GIB, hotplugs: ["HotMemoryChange"] }, node: to({}, 4 * GIB) }, "WillSucceed"],
    ["requests an unknown number of CPUs if the VMI's status does not show it",        { vmi: { asks: asks({ vcpus: 2 }), hotplugs: ["HotVCPUChange"] }, node: to({}) },                                  "Unknown", "spec.domain.cpu (HotVCPUChange)"],
    ["requests the CPUs that the VMI's status shows",                            { vmi: { asks: asks({ vcpus: 4 }), currentVcpus: 2, hotplugs: ["HotVCPUChange"] }, node: to({}, 8 * GIB) },        "WillSucceed"],
    ["requests CPUs by another cpuAllocationRatio than its current pod",  { vmi: { asks: asks({ vcpus: 4 }) }, node: to({}, 8 * GIB, 2000), settings: rendering({ cpuAllocationRatio: 1 }) }, "NoRoom"],
    ["has an unknown memory overhead if the KubeVirt CR multiplies it",   { vmi: { asks: asks({ guestMemory: GIB }) }, node: to({}, 2.5 * GIB), settings: rendering({ overheadRatio: 2 }) },  "Unknown", "additionalGuestMemoryOverheadRatio of the KubeVirt CR"],
    ["fits with the largest memory overhead",                      { vmi: { asks: asks({ guestMemory: GIB }) }, node: to({}, 4 * GIB), settings: rendering({ overheadRatio: 2 }) },    "WillSucceed"],
    ["selects labels of the KubeVirt CR",          { node: to({}), settings: rendering({ nodeSelectors: POOL_A }) },                                                  "NoRoom"],
    ["keeps the label kubevirt.io/schedulable that its current pod selects",  { pod: { placement: { nodeSelector: { "kubevirt.io/schedulable": "true" } } }, node: to({}) }, "NoRoom"],
    ["keeps the label cpumanager that its current pod selects",               { pod: { placement: { nodeSelector: { cpumanager: "true" } } }, node: to({}) }, "NoRoom"],
    ["keeps the architecture that its current pod selects",         { pod: { placement: { nodeSelector: { "kubernetes.io/arch": "arm64" } } }, node: to({ "kubernetes.io/arch": "amd64" }) }, "NoRoom"],
    ["fits a node with its named CPU model",                 { vmi: { asks: asks({ cpuModel: "Skylake" }) }, node: to(label("cpu-model", "Skylake")) }, "WillSucceed"],
    ["with host-passthrough fits a node with an obsolete host model", { node: to({ "node-labeller.kubevirt.io/obsolete-host-model": "true" }) }, "WillSucceed"],
    ["fits no node with a CPU feature that the VMI forbids",      { vmi: { asks: asks({ forbiddenFeatures: ["hle"] }) }, node: to(has("hle")) }, "NoRoom"],
    ["adds the CPUs that are being plugged in to its current pod's request",  { vmi: { asks: asks({ vcpus: 24 }), currentVcpus: 2 }, node: to({}, 8 * GIB, 3000) }, "NoRoom"],
    ["adds no more than the CPUs that are being plugged in",         { vmi: { asks: asks({ vcpus: 24 }), currentVcpus: 2 }, node: to({}, 8 * GIB, 3300) }, "WillSucceed"],
    ["requests dedicated CPUs without overcommit",                    { vmi: { asks: asks({ vcpus: 4, hasDedicatedCpus: true }), currentVcpus: 2 }, pod: { requests: { cpu: 2000, memory: 2 * GIB } }, node: to({}, 8 * GIB, 3000) }, "NoRoom"],
    ["adds the memory that is being plugged in to its current pod's request", { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: GIB }, node: to({}, 3.5 * GIB) }, "NoRoom"],
    ["adds the memory that is being plugged in to the memory that the VMI requests",                       { vmi: { asks: asks({ guestMemory: 3 * GIB, requestedMemory: 3 * GIB }), currentMemory: GIB }, node: to({}, 3.5 * GIB) }, "NoRoom"],
    ["requests the guest's memory, although its current pod requests less", { vmi: { asks: asks({ guestMemory: 6 * GIB }) }, node: to({}, 4 * GIB) }, "NoRoom"],
    ["requests its current pod's memory if the guest needs less",        { vmi: { asks: asks({ guestMemory: GIB }) }, node: to({}, 2 * GIB) }, "WillSucceed"],
    ["requests 1/512 of the plugged memory as overhead",     { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: 2 * GIB }, node: to({}, 3 * GIB + 2 * 1024 ** 2) }, "WillSucceed"],
    ["requests 1/512 of the plugged memory as overhead, without room for it", { vmi: { asks: asks({ guestMemory: 3 * GIB }), currentMemory: 2 * GIB }, node: to({}, 3 * GIB + 2 * 1024 ** 2 - 1) }, "NoRoom"],
    ["requests 8 MiB of overhead for each plugged CPU",      { vmi: { asks: asks({ vcpus: 24 }), currentVcpus: 2 }, node: to({}, 2 * GIB + 176 * 1024 ** 2) }, "WillSucceed"],
    ["requests 8 MiB of overhead for each plugged CPU, without room for it", { vmi: { asks: asks({ vcpus: 24 }), currentVcpus: 2 }, node: to({}, 2 * GIB + 176 * 1024 ** 2 - 1) }, "NoRoom"],
    ["multiplies only the memory overhead of its current pod, not the guest's memory",      { vmi: { asks: asks({ guestMemory: GIB }) }, node: to({}, 3 * GIB), settings: rendering({ overheadRatio: 2 }) }, "WillSucceed"],
    ["with hugepages requests no other memory for the guest", { vmi: { asks: asks({ guestMemory: 4 * GIB, hugepages: "1Gi" }) }, pod: { requests: { cpu: 1000, memory: GIB, "hugepages-1Gi": 4 * GIB } }, node: node("node02", { allocatable: { memory: 2 * GIB, "hugepages-1Gi": 4 * GIB } }) }, "WillSucceed"],
    ["fits no node under memory pressure, before the taint is there", { node: { ...to({}), pressures: ["MemoryPressure"] } }, "NoRoom"],
    ["keeps the tolerations that admission plugins have added",             { pod: { tolerations: [{ key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" }] }, node: { ...to({}), pressures: ["MemoryPressure"] } }, "WillSucceed"],
    ["fits no node that is not ready, before the taint is there", { node: { ...to({}), ready: false } }, "NoRoom"],
  ])("of a migration %s", (_, given, verdict, field) => {
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
    ["from an unchanged template fits",               { template: asks({ guestMemory: 2 * GIB }) },                         undefined],
    ["with more memory than any node has does not fit",                   { template: asks({ guestMemory: 300 * GIB }) },                       "Resources"],
    ["with less memory fits",                                   { template: asks({ guestMemory: GIB }) },                             undefined],
    ["in a pool without nodes does not fit",                            { template: asks({ guestMemory: 2 * GIB, nodeSelector: POOL_B }) },   "NodeAffinity"],
    ["with a required pod affinity cannot be judged",  { template: asks({ guestMemory: 2 * GIB, unchecked: ["podAffinity"] }) }, "not checked: podAffinity"],
    ["with an unchanged instance type fits",           { template: PLAIN, hasInstancetype: true },                           undefined],
    ["with an instance type during a memory hotplug cannot be judged",  { template: PLAIN, hasInstancetype: true },                           "spec.domain.memory (HotMemoryChange)", ["HotMemoryChange"]],
    ["from a template during a memory hotplug fits",        { template: asks({ guestMemory: 2 * GIB }) },                         undefined, ["HotMemoryChange"]],
    ["with an instance type that requires a restart cannot be judged", { template: PLAIN, hasInstancetype: true, restartRequired: true }, "spec.instancetype (RestartRequired)"],
    ["with a CPU model that no node has does not fit",        { template: asks({ guestMemory: 2 * GIB, cpuModel: "Skylake" }) },      "NodeAffinity"],
    ["with more CPUs than any node has does not fit",         { template: asks({ guestMemory: 2 * GIB, vcpus: 800 }) },               "Resources"],
    ["with hugepages that no node has does not fit",          { template: asks({ guestMemory: 4 * GIB, hugepages: "1Gi" }) },         "Resources"],
    ["with an instance type in a pool without nodes does not fit", { template: { ...PLAIN, nodeSelector: POOL_B }, hasInstancetype: true }, "NodeAffinity"],
    ["with an instance type and an affinity that no node matches does not fit", { template: { ...PLAIN, ...ON_A }, hasInstancetype: true },  "NodeAffinity"],
  ])("of a restart %s", (...[, start, obstacle, hotplugs]) => {
    const vmi = vmiOf("a", { asks: asks({ guestMemory: 2 * GIB }), ...(hotplugs && { hotplugs }) });
    const f = facts({ pods: [launcher("a")], vmis: [vmi], otherNodes: [to({})] });
    const vm = { runStrategy: "Always", start: { template: undefined, hasInstancetype: false, restartRequired: false, ...start } };
    const why = restartObstacle(vmi, f, nodeWorld({ vms: { "apps/a": vm } }));
    expect(why ?? "").toContain(obstacle ?? "");
    expect(why === undefined).toBe(obstacle === undefined);
  });
});

test("a restart from a template without a CPU model has the VMI's model", () => {
  const f = world("Skylake", label("cpu-model", "Skylake"), AMD);
  const start = { template: PLAIN, hasInstancetype: false, restartRequired: false };
  const w = nodeWorld({ vms: { "apps/a": { runStrategy: "Always", start } } });
  expect(f.vmis.map((vmi) => restartObstacle(vmi, f, w))).toEqual(["no other node has room for it: NodeAffinity"]);
});
