/**
 * Tests the room that other VMs use: VMs that are already migrating, that leave the same node, or that leave another
 * node.
 */
import { expect, test } from "vitest";
import { PLAIN } from "../../../shared/kube/guest.ts";
import type { NodeVerdict, PreflightFacts } from "../../../shared/preflight/facts.ts";
import { asItIs, placeInTurn } from "../../../shared/preflight/place.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import { migration, NODE } from "../../support/fixtures.ts";
import { facts, GIB, launcher, neighbour, node, vmiOf } from "../../support/preflight/fixtures.ts";

const JOB = migration({ namespace: "apps", vmiName: "web", uid: "job", phase: "Scheduling" });
const TWO_PODS = { activePods: { "pod-web": NODE, target: "node02" } };
const sized = (memory: number) => ({ requests: { cpu: 100, memory: memory * GIB } });
const room = (memory: number) => node("node02", { allocatable: { memory: memory * GIB } });

/** Returns the target pod of the migration `job`. The pod is on node02. */
const target = () =>
  neighbour("virt-launcher-web-target", "node02", {
    uid: "target",
    labels: { ...launcher("web").labels, "kubevirt.io/migrationJobUID": "job" },
    requests: launcher("web").requests,
  });

// prettier-ignore
test.each<[string, Partial<PreflightFacts>]>([
  ["its migration has no target pod yet",               { migrations: [JOB], otherPods: [neighbour("x", "node02")] }],
  ["the target pod belongs to another VM's migration",  { migrations: [{ ...JOB, vmiName: "b" }], otherPods: [target()] }],
])("a VM needs room on another node if %s", (_, tweak) => {
  expect(preflight(facts({ otherNodes: [room(2)], ...tweak })).verdict).toBe("NoRoom");
});

test("a target pod that is already on another node is counted only once", () => {
  const found = preflight(
    facts({
      pods: [launcher("web"), launcher("b", sized(1))],
      vmis: [vmiOf("web", TWO_PODS), vmiOf("b")],
      otherNodes: [room(3)],
      otherPods: [target()],
      migrations: [JOB],
    }),
  );
  expect(found.verdict).toBe("WillSucceed");
  expect(found.pods[0]?.room).toEqual({ fits: true, node: "node02", nodes: 1 });
});

const large = (priority = 0) => launcher("large", { ...sized(5), priority });
const small = (priority = 0) => launcher("small", { ...sized(2), priority });

// The large VM fits only on node02, to which the small VM goes if it leaves first.
// prettier-ignore
test.each<[string, PreflightFacts["flags"]["order"], PreflightFacts["pods"], NodeVerdict, guests?: readonly [large: number, small: number]]>([
  ["without a set order, the large VM first",       undefined,       [small(), large()],   "WillSucceed"],
  ["without a set order, the large VM first, also if it is listed first", undefined,       [large(), small()],   "WillSucceed"],
  ["with LargestFirst, the large VM first",                     "LargestFirst",  [small(), large()],   "WillSucceed"],
  ["with SmallestFirst, the small VM first",                    "SmallestFirst", [large(), small()],   "NoRoom"],
  ["with SmallestFirst, the small VM first, although its priority is higher",                  "SmallestFirst", [large(0), small(1)], "NoRoom"],
  ["with SmallestFirst, the VM with less guest memory first, although its pod requests more",            "SmallestFirst", [small(), large()],   "WillSucceed", [1, 2]],
  ["with ByPriority, the large VM first, if its priority is lower",   "ByPriority",    [small(1), large(0)], "WillSucceed"],
  ["with ByPriority, the small VM first, if its priority is lower",   "ByPriority",    [large(1), small(0)], "NoRoom"],
])("VMs leave %s", (_, ...[order, pods, verdict, [ofLarge, ofSmall] = [5, 2]]) => {
  const found = preflight(
    facts({
      pods,
      vmis: [vmiOf("large", { guestMemory: ofLarge * GIB }), vmiOf("small", { guestMemory: ofSmall * GIB })],
      otherNodes: [6, 3].map((memory, at) => node(`node0${at + 2}`, { allocatable: { memory: memory * GIB } })),
      flags: { force: false, deleteEmptyDirData: false, ...(order !== undefined && { order }) },
    }),
  );
  expect(found.verdict).toBe(verdict);
});

test("a VM that leaves another node does not return to its own node", () => {
  const own = node("node03", { allocatable: { memory: 32 * GIB } });
  const found = preflight(
    facts({
      vmis: [vmiOf("web", { asks: { ...PLAIN, nodeSelector: { pool: "a" } } })],
      otherNodes: [node("node02", { labels: { pool: "a" }, allocatable: { memory: 8 * GIB } }), own],
      otherPods: [neighbour("other", "node03", { uid: "pod-other", ...sized(7) })],
      leavingElsewhere: [
        {
          node: own,
          pods: [launcher("other", { nodeName: "node03", ...sized(7) })],
          vmis: [vmiOf("other", { nodeName: "node03", activePods: { "pod-other": "node03" } })],
          migrations: [],
        },
      ],
    }),
  );
  expect(found.verdict).toBe("NoRoom");
});

test("a VM that has moved uses room on its new node", () => {
  const f = facts({ otherNodes: [room(3)] });
  const moved = [{ ...launcher("a"), nodeName: "node02" }];
  expect(placeInTurn([asItIs(launcher("b"))], f, { moved }).get("pod-b")?.fits).toBe(false);
});
