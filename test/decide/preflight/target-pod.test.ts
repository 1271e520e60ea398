/** What the next pod of a VM asks of its node, above all the CPU, as KubeVirt's migration controller selects it. */
import { describe, expect, test } from "vitest";
import { restartObstacle } from "../../../shared/maintenance/forecast.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { NODE } from "../../support/fixtures.ts";
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
  const vmis = [vmiOf("a", cpuModel === undefined ? {} : { cpuModel })];
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
  ["a hostname that the VM asks for does",                             { "kubernetes.io/hostname": NODE },   "NoRoom"],
])("%s", (_, own, verdict) => {
  const f = world("host-passthrough", { "kubernetes.io/hostname": NODE }, SKYLAKE);
  const vmis = f.vmis.map((vmi) => ({ ...vmi, ...(own && { nodeSelector: own }) }));
  expect(preflight({ ...f, vmis }).verdict).toBe(verdict);
});

// prettier-ignore
test.each<[string, model: string, launcher: Selector, obstacle: string | undefined]>([
  ["what the last migration of a host-model VM has added does not count", "host-model", { ...INTEL, ...can("Penryn") },  undefined],
  ["a named model does",                                                  "Skylake",    label("cpu-model", "Skylake"),    "no other node has room for it: NodeAffinity"],
])("a restart: %s", (_, model, selector, obstacle) => {
  const f = world(model, selector, AMD);
  expect(f.vmis.map((vmi) => restartObstacle(vmi, f))).toEqual([obstacle]);
});
