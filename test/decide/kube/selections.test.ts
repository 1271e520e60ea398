/** Tests the selectors of a request, and the names that may be part of a request. */
import { describe, expect, test } from "vitest";
import { isObjectKey, isVmiKey } from "../../../shared/kube/objects.ts";
import { type Selection, selectorsOf } from "../../../shared/kube/selection.ts";
import * as selections from "../../../shared/kube/selections.ts";

// prettier-ignore
test.each<[string, Selection, labelSelector: string | undefined, fieldSelector: string | undefined]>([
  ["everything",                               {},                                             undefined,                                          undefined],
  ["a label of any value",                     selections.MIGRATING_VMIS,                      "kubevirt.io/migrationTargetNodeName",              undefined],
  ["a label with one of several values",       { labels: { app: ["web", "db"], tier: "a" } },  "app in (web,db),tier=a",                           undefined],
  ["a field without several values",           { unlike: { phase: ["Failed", "Succeeded"] } }, undefined,                                          "phase!=Failed,phase!=Succeeded"],
  ["the VMIs of a node",                       selections.selectVmisOn("n1"),                  "kubevirt.io/nodeName=n1",                          undefined],
  ["the pods of a node",                       selections.selectPodsOn("n1"),                  undefined,                                          "spec.nodeName=n1"],
  ["the launcher pods of a node",              selections.selectLaunchersOn("n1"),             "kubevirt.io=virt-launcher",                        "spec.nodeName=n1"],
  ["the Evacuations from a node",              selections.selectEvacuationsFrom("n1"),         undefined,                                          "status.sourceNode=n1"],
  ["the Evacuations for a NodeEvacuation",     selections.selectEvacuationsFor("drain"),       undefined,                                          "spec.nodeEvacuation.name=drain"],
])("a list of %s is selected by the labels %s and the fields %s", (_, selection, labelSelector, fieldSelector) => {
  expect(selectorsOf(selection)).toEqual({ ...(labelSelector && { labelSelector }), ...(fieldSelector && { fieldSelector }) });
});

const vmi = (name: string, namespace = "apps") => ({ namespace, name });
const named = (...names: readonly string[]) => `kubevirt.io/vmi-name in (${names.join(",")})`;

describe("the migrations of VMIs", () => {
  const [long, tooLong] = ["a".repeat(63), "a".repeat(64)];

  // prettier-ignore
  test.each<[string, Parameters<typeof selections.selectMigrationsOf>[0], readonly (readonly [namespace: string, labels: string | undefined])[]]>([
    ["of one VMI by its name",                                           [vmi("web")],                      [["apps", "kubevirt.io/vmi-name=web"]]],
    ["of several VMIs by their names",                                   [vmi("web"), vmi("db")],           [["apps", named("web", "db")]]],
    ["of two namespaces in each namespace",                              [vmi("web"), vmi("web", "shop")],  [["apps", "kubevirt.io/vmi-name=web"], ["shop", "kubevirt.io/vmi-name=web"]]],
    ["of a name that fits into a label by the name",                     [vmi(long)],                       [["apps", `kubevirt.io/vmi-name=${long}`]]],
    ["of a namespace if one of the names does not fit into a label",     [vmi("web"), vmi(tooLong)],        [["apps", undefined]]],
    ["of no VMI whose name cannot exist",                                [vmi("..")],                       []],
  ])("are selected: those %s", (_, vmis, expected) => {
    const found = selections.selectMigrationsOf(vmis);
    expect(found.map((one) => [one.namespace, selectorsOf(one).labelSelector])).toEqual(expected);
  });

  test("are selected in parts of at most 4000 characters, because some proxies accept no longer URL", () => {
    const names = Array.from({ length: 200 }, (_, i) => `${i}`.padStart(63, "a"));
    const parts = selections.selectMigrationsOf(names.map((name) => vmi(name))).map(({ labels = {} }) => labels);
    const chunks = parts.flatMap((labels) => [Object.values(labels).flat().map(String)]);
    expect(chunks.flat()).toEqual(names);
    expect(chunks.map(({ length }) => length)).toEqual([60, 60, 60, 20]);
    for (const chunk of chunks) expect(encodeURIComponent(chunk.join(",")).length).toBeLessThanOrEqual(4000);
  });
});

// prettier-ignore
test.each([
  // namespace  name       an object's key  a VMI's key
  ["apps",      "web",     true,            true],
  ["",          "node01",  true,            false],
  ["apps",      "..",      false,           false],
  ["..",        "web",     false,           false],
  ["apps",      "",        false,           false],
  ["",          "a/b",     false,           false],
])("the namespace %j and the name %j can be an object's: %s, and a VMI's: %s", (namespace, name, ...expected) => {
  expect([isObjectKey({ namespace, name }), isVmiKey({ namespace, name })]).toEqual(expected);
});
