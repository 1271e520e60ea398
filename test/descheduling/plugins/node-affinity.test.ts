/** RemovePodsViolatingNodeAffinity: upstream's cases for both types, and what verdicts mean. */
import { describe, expect, test } from "vitest";
import type {
  DefaultEvictorArguments,
  NodeAffinityArguments,
  NodeAffinityType,
} from "../../../shared/descheduling/plugins/arguments.ts";
import type { DeschedulerNode, DeschedulerPod, Placement } from "../../../shared/descheduling/plugins/facts.ts";
import { nodeAffinity } from "../../../shared/descheduling/plugins/node-affinity.ts";
import {
  ANYWHERE,
  drive,
  evicted,
  labelled,
  limits,
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

function args(...nodeAffinityType: readonly NodeAffinityType[]): NodeAffinityArguments {
  return { sort: true, nodeAffinityType };
}

const desired = term(requirement("desired", "In", "yes"));
const PLACEMENT: Readonly<Record<NodeAffinityType, Placement>> = {
  [REQUIRED]: { ...ANYWHERE, required: [desired] },
  [PREFERRED]: { ...ANYWHERE, preferred: [{ weight: 10, preference: desired }] },
};

const LABELLED = node("labelled", { labels: { desired: "yes" } });
const PLAIN = node("plain");
const CORDONED = node("cordoned", { labels: { desired: "yes" }, unschedulable: true });

/** One pod with affinity among others without, on one node. */
function on(nodeName: string, type: NodeAffinityType, tweak: Partial<DeschedulerPod> = {}): readonly DeschedulerPod[] {
  return [
    pod("picky", { nodeName, placement: PLACEMENT[type], ...tweak }),
    pod("a", { nodeName }),
    pod("b", { nodeName }),
  ];
}

interface Case {
  readonly tweak?: Partial<DeschedulerPod>;
  readonly evictor?: Partial<DefaultEvictorArguments>;
  readonly args?: Partial<NodeAffinityArguments>;
  readonly limits?: Parameters<typeof limits>[0];
}
const nodeFit = { nodeFit: true };

// prettier-ignore
const rows: readonly (readonly [string, string, readonly DeschedulerNode[], Case, boolean])[] = [
  // what                                         pods on     nodes                  how                                       picky goes
  ["already where it wants to be",                "labelled", [LABELLED],            {},                                       false],
  ["another node is as wanted",                   "plain",    [PLAIN, LABELLED],     {},                                       true],
  ["one for each node",                           "plain",    [PLAIN, LABELLED],     { limits: { perNode: 1 } },        true],
  ["none for each node",                          "plain",    [PLAIN, LABELLED],     { limits: { perNode: 0 } },        false],
  ["one for each namespace",                      "plain",    [PLAIN, LABELLED],     { limits: { perNamespace: 1 } },   true],
  ["none for each namespace",                     "plain",    [PLAIN, LABELLED],     { limits: { perNamespace: 0 } },   false],
  ["one for each namespace, none in all",         "plain",    [PLAIN, LABELLED],     { limits: { perNamespace: 1, total: 0 } }, false],
  ["terminating",                                 "plain",    [PLAIN, LABELLED],     { tweak: { deleting: true } },            false],
  ["ended",                                       "plain",    [PLAIN, LABELLED],     { tweak: { phase: "Succeeded" } },        false],
  ["the wanted node is cordoned",                 "plain",    [PLAIN, CORDONED],     { evictor: nodeFit },                     false],
  ["on a wanted node, the other cordoned",        "labelled", [LABELLED, CORDONED],  { evictor: nodeFit },                     false],
  ["the wanted node is full, nodeFit asked for",  "plain",    [PLAIN, node("labelled", { labels: { desired: "yes" }, allocatable: { cpu: 50 } })], { evictor: nodeFit }, false],
  ["in a namespace excluded",                     "plain",    [PLAIN, LABELLED],     { args: { namespaces: { exclude: ["default"] } } }, false],
  ["not selected by label",                       "plain",    [PLAIN, LABELLED],     { args: { labelSelector: labelled({ app: "web" }) } }, false],
];
const cells = ([REQUIRED, PREFERRED] as const).flatMap((type) =>
  rows.map(([what, ...rest]) => [type, what, ...rest] as const),
);
test.each(cells)("%s: %s", (...[type, , nodeName, nodes, how, goes]) => {
  const seen = world({ nodes, pods: on(nodeName, type, how.tweak) }, how.evictor);
  expect(evicted(nodeAffinity, { ...args(type), ...how.args }, seen, limits(how.limits ?? {}))).toEqual(
    goes ? ["picky"] : [],
  );
});

describe("without nodeFit of DefaultEvictor", () => {
  // prettier-ignore
  test.each([
    ["required: a wanted node that is cordoned",                  REQUIRED,  [PLAIN, CORDONED],  []],
    ["required: a wanted node whose taint is not tolerated",      REQUIRED,  [PLAIN, node("labelled", { labels: { desired: "yes" }, taints: [taint("t")] })], []],
    ["preferred: a wanted node that is cordoned, as upstream",    PREFERRED, [PLAIN, CORDONED],  ["picky"]],
  ] as const)("%s", (_, type, nodes, expected) => {
    expect(evicted(nodeAffinity, args(type), world({ nodes, pods: on("plain", type) }))).toEqual(expected);
  });
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

describe("preferences add up", () => {
  const placement = { ...ANYWHERE, preferred: [likes(10, "a"), likes(5, "b"), likes(6, "c")] };
  const nodes = [["a"], ["b"], ["b", "c"], []].map((keys) => {
    return node(keys.join("") || "none", { labels: Object.fromEntries(keys.map((key) => [key, ""])) });
  });
  // prettier-ignore
  test.each([
    ["a",    true],
    ["b",    true],
    ["bc",   false],
    ["none", true],
  ])("on node %s: goes %s", (nodeName, goes) => {
    const pods = [pod("p", { nodeName, placement })];
    expect(evicted(nodeAffinity, args(PREFERRED), world({ nodes, pods }))).toEqual(goes ? ["p"] : []);
  });
});

describe("order and verdicts", () => {
  const nodes = [node("n2"), LABELLED, node("n1")];
  const picky = (name: string, type: NodeAffinityType, nodeName = "n1") =>
    pod(name, { nodeName, placement: PLACEMENT[type] });
  const both = pod("0", { placement: { ...PLACEMENT[REQUIRED], preferred: PLACEMENT[PREFERRED].preferred } });
  const pods = [picky("4", PREFERRED), picky("3", REQUIRED, "n2"), picky("2", REQUIRED), picky("1", REQUIRED), both];
  // prettier-ignore
  test.each([
    ["by type, then node, then name; nobody twice",  [REQUIRED, PREFERRED], [],    true,  undefined,                   ["0", "1", "2", "3", "4"]],
    ["types in the order given",                     [PREFERRED, REQUIRED], [],    true,  undefined,                   ["0", "4", "1", "2", "3"]],
    ["those in progress first",                      [REQUIRED],            ["2"], true,  undefined,                   ["2", "0", "1", "3"]],
    ["unless the arguments say sort: false",         [REQUIRED],            ["2"], false, undefined,                   ["0", "1", "2", "3"]],
    ["skipped: the next pod",                        [REQUIRED],            [],    true,  saying("Skipped", "0"),      ["0", "1", "2", "3"]],
    ["node limit: the next node",                    [REQUIRED],            [],    true,  saying("NodeLimit", "0"),    ["0", "3"]],
    ["total limit: nothing more, of no type",        [REQUIRED, PREFERRED], [],    true,  saying("TotalLimit", "1"),   ["0", "1"]],
  ] as const)("%s", (...[, types, inProgress, sort, judge, expected]) => {
    const seen = world({ nodes, pods }, {}, [...inProgress]);
    expect(nominated(nodeAffinity, { ...args(...types), sort }, seen, judge)).toEqual(expected);
  });

  // prettier-ignore
  test.each([
    [REQUIRED,  "node n1 does not meet its required node affinity"],
    [PREFERRED, "its preferred node affinity speaks for another node than n1"],
  ] as const)("the reason, %s", (type, reason) => {
    expect(drive(nodeAffinity, args(type), world({ nodes, pods }))[0]?.nomination.reason).toBe(reason);
  });
});
