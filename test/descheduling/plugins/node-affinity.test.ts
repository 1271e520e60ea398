/** RemovePodsViolatingNodeAffinity: upstream's cases for both types. */
import { describe, expect, test } from "vitest";
import type { Placement } from "../../../shared/kube/placement.ts";
import type { ScheduledPod } from "../../../shared/kube/scheduled-pod.ts";
import { type Arguments, nodeAffinity } from "../../../shared/descheduling/plugins/node-affinity.ts";
import {
  ANYWHERE,
  drive,
  evicted,
  node,
  nominated,
  pod,
  requirement,
  saying,
  taint,
  term,
  world,
} from "../fixtures.ts";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";

function args(...nodeAffinityType: Arguments["nodeAffinityType"]): Arguments {
  return { nodeAffinityType };
}

const desired = term(requirement("desired", "In", "yes"));
const PLACEMENT: Readonly<Record<Arguments["nodeAffinityType"][number], Placement>> = {
  [REQUIRED]: { ...ANYWHERE, required: [desired] },
  [PREFERRED]: { ...ANYWHERE, preferred: [{ weight: 10, preference: desired }] },
};

const labels = { desired: "yes" };
const LABELLED = node("labelled", { labels });
const PLAIN = node("plain");
const CORDONED = node("labelled", { labels, unschedulable: true });
const TAINTED = node("labelled", { labels, taints: [taint("t")] });
const SMALL = node("labelled", { labels, allocatable: { cpu: 50 } });

const picky = (name: string, type: Arguments["nodeAffinityType"][number], tweak: Partial<ScheduledPod> = {}) =>
  pod(name, { placement: PLACEMENT[type], ...tweak });

const nodeFit = { nodeFit: true };

// prettier-ignore
test.each([
  // what                                          its node     the other  DefaultEvictor  pod                       required  preferred: goes
  ["already where it wants to be",                 "labelled",  LABELLED,  {},             {},                       false,    false],
  ["another node is as wanted",                    "plain",     LABELLED,  {},             {},                       true,     true ],
  ["terminating",                                  "plain",     LABELLED,  {},             { deleting: true },       false,    false],
  ["ended",                                        "plain",     LABELLED,  {},             { phase: "Succeeded" },   false,    false],
  ["the wanted node is cordoned",                  "plain",     CORDONED,  {},             {},                       false,    true ],
  ["the wanted node is cordoned, nodeFit",         "plain",     CORDONED,  nodeFit,        {},                       false,    false],
  ["the wanted node is tainted",                   "plain",     TAINTED,   {},             {},                       false,    true ],
  ["the wanted node is tainted, nodeFit",          "plain",     TAINTED,   nodeFit,        {},                       false,    false],
  ["the wanted node is too small, nodeFit",        "plain",     SMALL,     nodeFit,        {},                       false,    false],
] as const)("%s", (...[, nodeName, other, evictor, tweak, ...goes]) => {
  const evictedBy = (type: Arguments["nodeAffinityType"][number]) => {
    const pods = [picky("picky", type, { nodeName, ...tweak }), pod("a", { nodeName }), pod("b", { nodeName })];
    return evicted(nodeAffinity, args(type), world({ nodes: [PLAIN, other], pods }, evictor));
  };
  expect([evictedBy(REQUIRED), evictedBy(PREFERRED)]).toEqual(goes.map((it) => (it ? ["picky"] : [])));
});

test("what is asked for by nodeSelector alone is not looked at", () => {
  const pods = [pod("p", { nodeName: "plain", placement: { ...ANYWHERE, nodeSelector: { desired: "yes" } } })];
  expect(evicted(nodeAffinity, args(REQUIRED, PREFERRED), world({ nodes: [PLAIN, LABELLED], pods }))).toEqual([]);
});

test("but a nodeSelector that is no longer met counts where there is required affinity", () => {
  const placement = { ...ANYWHERE, nodeSelector: { zone: "a" }, required: [desired] };
  const nodes = [LABELLED, node("both", { labels: { desired: "yes", zone: "a" } })];
  const pods = [pod("p", { nodeName: "labelled", placement })];
  expect(evicted(nodeAffinity, args(REQUIRED), world({ nodes, pods }))).toEqual(["p"]);
});

const likes = (weight: number, key: string) => ({ weight, preference: term(requirement(key, "Exists")) });

test("preferences add up: pods leave each node but the best", () => {
  const placement = { ...ANYWHERE, preferred: [likes(10, "a"), likes(5, "b"), likes(6, "c")] };
  const nodes = [["a"], ["b"], ["b", "c"], []].map((keys) => {
    return node(keys.join("") || "none", { labels: Object.fromEntries(keys.map((key) => [key, ""])) });
  });
  const pods = nodes.map(({ name }) => pod(`on-${name}`, { nodeName: name, placement }));
  expect(evicted(nodeAffinity, args(PREFERRED), world({ nodes, pods }))).toEqual(["on-a", "on-b", "on-none"]);
});

describe("two types", () => {
  const nodes = [node("n2"), LABELLED, node("n1")];
  const both = pod("0", { placement: { ...PLACEMENT[REQUIRED], preferred: PLACEMENT[PREFERRED].preferred } });
  const onN2 = picky("3", REQUIRED, { nodeName: "n2" });
  const pods = [picky("4", PREFERRED), onN2, picky("2", REQUIRED), picky("1", REQUIRED), both];
  // prettier-ignore
  test.each([
    ["by type, then node, then name; no pod twice",  [REQUIRED, PREFERRED], undefined,                   ["0", "1", "2", "3", "4"]],
    ["types in the order given",                     [PREFERRED, REQUIRED], undefined,                   ["0", "4", "1", "2", "3"]],
    ["total limit: nothing more, of no type",        [REQUIRED, PREFERRED], saying("TotalLimit", "1"),   ["0", "1"]],
  ] as const)("%s", (...[, types, judge, expected]) => {
    expect(nominated(nodeAffinity, args(...types), world({ nodes, pods }), judge)).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    [REQUIRED,  "node n1 does not meet its required node affinity"],
    [PREFERRED, "its preferred node affinity speaks for another node than n1"],
  ] as const)("the reason, %s", (type, reason) => {
    expect(drive(nodeAffinity, args(type), world({ nodes, pods }))[0]?.nomination.reason).toBe(reason);
  });
});
