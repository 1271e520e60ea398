/** Pods that a budget lets go one after the other, each when the replacement of one before it is ready. */
import { expect, test } from "vitest";
import type { BudgetFacts } from "../../../shared/kube/facts.ts";
import type { PreflightFacts } from "../../../shared/preflight/facts.ts";
import { preflight } from "../../../shared/preflight/verdict.ts";
import {
  facts,
  foreignBudget,
  GIB,
  launcher,
  neighbour,
  node,
  plainPod,
  vmiOf,
} from "../../support/preflight/fixtures.ts";

const quorum = (...names: readonly string[]) => names.map((name) => plainPod(name, { labels: { app: "quorum" } }));
const allowing = (disruptionsAllowed: number): readonly BudgetFacts[] => {
  const status = { disruptionsAllowed, currentHealthy: 3, desiredHealthy: 2 };
  return [foreignBudget("quorum", "quorum", { status })];
};
const small = (memory: number) => [node("node02", { allocatable: { memory } })];
const [ONE, TWO] = [2 * GIB, 4 * GIB];
const bare = quorum("a", "b").map((pod) => ({ ...pod, owners: [] }));
const force = { force: true, deleteEmptyDirData: false };
const apart = {
  topologyKey: "kubernetes.io/hostname",
  namespaces: [],
  selector: { matchLabels: { app: "quorum" }, matchExpressions: [] },
};

// prettier-ignore
test.each<[string, Partial<PreflightFacts>, verdict: string, stuck: number]>([
  ["room for all",                             { pods: quorum("a", "b", "c"), budgets: allowing(1) },                                "WillSucceed",  0],
  ["room for none",                            { pods: quorum("a", "b", "c"), budgets: allowing(1), otherNodes: small(GIB) },        "NoRoom",       2],
  ["… all may go at once",                     { pods: quorum("a", "b", "c"), budgets: allowing(3), otherNodes: small(GIB) },        "WillSucceed",  0],
  ["room for one",                             { pods: quorum("a", "b", "c"), budgets: allowing(1), otherNodes: small(ONE) },        "NoRoom",       1],
  ["room for two: the third is let go by the second", { pods: quorum("a", "b", "c"), budgets: allowing(1), otherNodes: small(TWO) }, "WillSucceed",  0],
  ["another pod that leaves takes that room",  { pods: [plainPod("x"), ...quorum("a", "b")], budgets: allowing(1), otherNodes: small(ONE) }, "NoRoom", 1],
  ["their anti-affinity, and a node too few",  { pods: quorum("a", "b").map((pod) => ({ ...pod, antiAffinity: [apart] })), budgets: allowing(1), otherPods: [neighbour("c", "node02", { labels: { app: "quorum" } })] }, "NoRoom", 1],
  ["not ready: they take no disruption",       { pods: quorum("a", "b").map((pod) => ({ ...pod, ready: false })), budgets: allowing(1), otherNodes: small(GIB) }, "WillSucceed", 0],
  ["… they ask for what is not judged",       { pods: quorum("a", "b").map((pod) => ({ ...pod, unchecked: ["podAffinity"] })), budgets: allowing(1) }, "Unknown", 0],
  ["no controller makes replacements",         { pods: bare, budgets: allowing(1), flags: force },                                   "Unknown", 0],
])("%s", (_, more, verdict, stuck) => {
  const answer = preflight(facts({ vmis: [], ...more }));
  expect(answer.verdict).toBe(verdict);
  expect(answer.pods.filter(({ room }) => room?.fits === false)).toHaveLength(stuck);
});

test("a volume that no other node reaches keeps a replacement away", () => {
  const volumes = [{ namespace: "apps", claim: "data", reachedFrom: [] }];
  const pods = quorum("a", "b").map((pod) => ({ ...pod, claims: ["data"] }));
  expect(preflight(facts({ vmis: [], pods, volumes, budgets: allowing(1) })).verdict).toBe("NoRoom");
});

test("the budget and what the replacement lacks are told; each eviction by itself would be allowed", () => {
  const f = facts({ vmis: [], pods: quorum("a", "b"), budgets: allowing(1), otherNodes: small(GIB) });
  const { summary, pods, time } = preflight(f);
  const withVm = preflight({ ...f, pods: [launcher("web"), ...f.pods], vmis: [vmiOf("web")] });
  expect(withVm.summary).toContain("room for 1 of its VMs, nor for the replacements that 1 pod waits for");
  expect(summary).toBe("draining node01 will block: no other node has room for the replacements that 1 pod waits for");
  expect(time).toBeUndefined();
  expect(pods[1]).toMatchObject({
    outcome: "Evicted",
    room: { fits: false },
  });
  expect(pods[1]?.room?.message).toBe(
    "PodDisruptionBudget quorum waits for a replacement of another pod: no other node has room for it: Resources",
  );
});
