/** RemovePodsViolatingNodeAffinity: upstream's cases. */
import { expect, test } from "vitest";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";
import { type Arguments, nodeAffinity } from "../../../../shared/descheduling/plugins/node-affinity.ts";
import { ANYWHERE, evicted, node, pod, requirement, term, world } from "../../../support/descheduling/fixtures.ts";

const ARGS: Arguments = { nodeAffinityType: ["requiredDuringSchedulingIgnoredDuringExecution"] };
const desired = term(requirement("desired", "In", "yes"));
const labels = { desired: "yes" };
const LABELLED = node("labelled", { labels });
const PLAIN = node("plain");
const CORDONED = node("labelled", { labels, unschedulable: true });

const picky = (nodeName: string, tweak: Partial<ScheduledPod> = {}) =>
  pod("picky", { nodeName, placement: { ...ANYWHERE, required: [desired] }, ...tweak });

// prettier-ignore
test.each([
  // the pod                                       its node     the other  tweak                     goes
  ["is where it wants to be",                      "labelled",  LABELLED,  {},                       false],
  ["has a wanted node",                            "plain",     LABELLED,  {},                       true ],
  ["has ended",                                    "plain",     LABELLED,  { phase: "Succeeded" },   false],
  ["has a wanted node that is cordoned",           "plain",     CORDONED,  {},                       false],
] as const)("when a pod %s, it goes: %4$s", (...[, nodeName, other, tweak, goes]) => {
  const pods = [picky(nodeName, tweak), pod("a", { nodeName }), pod("b", { nodeName })];
  expect(evicted(nodeAffinity, ARGS, world({ nodes: [PLAIN, other], pods }))).toEqual(goes ? ["picky"] : []);
});

test("a nodeSelector counts only where there is required affinity", () => {
  const nodes = [LABELLED, node("both", { labels: { desired: "yes", zone: "a" } })];
  const placement = { nodeSelector: { zone: "a" } };
  const pods = [
    pod("alone", { nodeName: "labelled", placement }),
    pod("p", { nodeName: "labelled", placement: { ...placement, required: [desired] } }),
  ];
  expect(evicted(nodeAffinity, ARGS, world({ nodes, pods }))).toEqual(["p"]);
});
