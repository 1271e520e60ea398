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
  ])("of a restart %s", (...[, start, obstacle, hotplugs]) => {
    const vmi = vmiOf("a", { asks: asks({ guestMemory: 2 * GIB }), ...(hotplugs && { hotplugs }) });
    const f = facts({ pods: [launcher("a")], vmis: [vmi], otherNodes: [to({})] });
    const vm = { runStrategy: "Always", start: { template: undefined, hasInstancetype: false, restartRequired: false, ...start } };
    const why = restartObstacle(vmi, f, nodeWorld({ vms: { "apps/a": vm } }));
    expect(why ?? "").toContain(obstacle ?? "");
    expect(why === undefined).toBe(obstacle === undefined);
  });
});
