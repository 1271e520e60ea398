/** Tests RemovePodsViolatingInterPodAntiAffinity: which pods the plugin evicts, and how many. */
import { describe, expect, test } from "vitest";
import { antiAffinity } from "../../../../shared/descheduling/plugins/anti-affinity.ts";
import type { PodTerm, ScheduledNode, ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import {
  evicted,
  labelled,
  limits,
  node,
  nominated,
  pod,
  saying,
  UNEVICTABLE,
  world,
} from "../../../support/descheduling/fixtures.ts";

const WEB = { app: "web" };

function zoned(name: string, zone: string): ScheduledNode {
  return node(name, { labels: { zone, host: name } });
}

describe("RemovePodsViolatingInterPodAntiAffinity", () => {
  const nodes = [zoned("n1", "a"), zoned("n2", "a"), zoned("n3", "b")];
  const apart = (topologyKey: string, more: Partial<PodTerm> = {}): Partial<ScheduledPod> => ({
    labels: WEB,
    antiAffinity: [{ topologyKey, namespaces: [], selector: labelled(WEB), ...more }],
  });
  const web = (name: string, tweak: Partial<ScheduledPod> = {}) => pod(name, { labels: WEB, ...tweak });
  const vm = { "kubevirt.io/created-by": "vmi" };

  // prettier-ignore
  test.each<[string, readonly ScheduledPod[], readonly string[]]>([
    ["evicts one of two pods that exclude each other",                [pod("a", apart("host")), pod("b", apart("host"))],                                   ["a"]],
    ["evicts two of three pods that exclude each other",              [pod("a", apart("host")), pod("b", apart("host")), pod("c", apart("host"))],          ["a", "b"]],
    ["evicts the pod of lower priority",                              [pod("a", { ...apart("host"), priority: 1 }), pod("b", apart("host"))],               ["b"]],
    ["evicts only the pod that has the term",                         [web("a"), pod("b", apart("host"))],                                                  ["b"]],
    ["evicts a pod with a neighbour on another node of the domain",   [pod("a", apart("zone")), web("b", { nodeName: "n2" })],                              ["a"]],
    ["evicts no pod whose neighbour is in another domain",            [pod("a", apart("zone")), web("b", { nodeName: "n3" })],                              []],
    ["evicts no pod by a topology label that its node lacks",         [pod("a", apart("rack")), web("b")],                                                  []],
    ["evicts no pod whose neighbour is in another namespace",         [pod("a", apart("host")), web("b", { namespace: "shop" })],                           []],
    ["evicts a pod whose neighbour is in a namespace of the term",    [pod("a", apart("host", { namespaces: ["shop"] })), web("b", { namespace: "shop" })], ["a"]],
    ["evicts no pod whose neighbour the term does not select",        [pod("a", apart("host")), web("b", { labels: { app: "db" } })],                       []],
    ["evicts no pod by a term without a selector",                    [pod("a", { ...apart("host"), antiAffinity: [{ topologyKey: "host", namespaces: [] }] }), web("b")], []],
    ["evicts no pod whose neighbour has ended or is being deleted",   [pod("a", apart("host")), web("b", { phase: "Failed" }), web("c", { deleting: true })], []],
    ["evicts the neighbour of a pod that DefaultEvictor protects",    [pod("a", { ...apart("host"), ...UNEVICTABLE.daemonSet }), pod("b", apart("host"))],  ["b"]],
    ["evicts by any of its terms",                                    [pod("a", { labels: WEB, antiAffinity: [{ topologyKey: "host", namespaces: [], selector: labelled({ app: "none" }) }, { topologyKey: "host", namespaces: [], selector: labelled({ app: "db" }) }] }), web("b", { labels: { app: "db" } })], ["a"]],
    ["judges each term and each topology key for itself",             [pod("a", { labels: WEB, antiAffinity: [{ topologyKey: "host", namespaces: [], selector: labelled(WEB) }, { topologyKey: "zone", namespaces: [], selector: labelled(WEB) }] }), web("b", { nodeName: "n2" })], ["a"]],
    ["judges each namespace for itself",                              [pod("a", apart("host")), pod("b", { ...apart("host"), namespace: "shop" }), web("c", { namespace: "shop" })], ["b"]],
    ["judges each domain for itself",                                 [pod("a", { ...apart("host"), priority: -1 }), pod("b", { ...apart("host"), nodeName: "n2" }), web("c", { nodeName: "n2" })], ["b"]],
    ["evicts no VM beside the target of its own migration",           [pod("a", { ...apart("zone"), labels: { ...WEB, ...vm } }), web("b", { nodeName: "n2", labels: { ...WEB, ...vm } })], []],
    ["evicts a VM beside another VM",                                 [pod("a", { ...apart("zone"), labels: { ...WEB, ...vm } }), web("b", { nodeName: "n2", labels: { ...WEB, "kubevirt.io/created-by": "other" } })], ["a"]],
  ])("%s", (_, pods, expected) => {
    expect(evicted(antiAffinity, {}, world({ nodes, pods }))).toEqual(expected);
  });

  const both = [pod("a", apart("host")), pod("b", apart("host"))];

  test("counts a pod that is already leaving as evicted, and evicts no other pod, in any order", () => {
    for (const args of [{}, { inProgressFirst: false }])
      expect(nominated(antiAffinity, args, world({ nodes, pods: both }, {}, ["b"]))).toEqual(["b"]);
  });

  test("evicts another pod if one was refused", () => {
    expect(nominated(antiAffinity, {}, world({ nodes, pods: both }), saying("Skipped", "a"))).toEqual(["a", "b"]);
  });

  test("applies its arguments to pods and their neighbours", () => {
    const seen = world({ nodes, pods: [pod("a", apart("host")), web("b", { labels: { ...WEB, tier: "x" } })] });
    expect(evicted(antiAffinity, { labelSelector: labelled({ tier: "x" }) }, seen)).toEqual([]);
    expect(evicted(antiAffinity, { namespaces: { exclude: ["default"] } }, seen)).toEqual([]);
  });

  test("skips the rest of a node at the node's limit, and ends at the total limit", () => {
    const pods = ["n1", "n2"].flatMap((nodeName) =>
      ["a", "b", "c"].map((name) => pod(`${nodeName}-${name}`, { ...apart("host"), nodeName })),
    );
    const seen = world({ nodes, pods });
    expect(evicted(antiAffinity, {}, seen, limits({ perNode: 1 }))).toEqual(["n1-a", "n2-a"]);
    expect(nominated(antiAffinity, {}, seen, limits({ total: 1 }))).toEqual(["n1-a", "n1-b"]);
  });
});
