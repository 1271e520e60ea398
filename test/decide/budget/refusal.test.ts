/** Tests which PodDisruptionBudgets refuse an eviction, and how many guests Lifeboat may stop at once. */
import { describe, expect, test } from "vitest";
import { keptByBudgets, refusedByBudget } from "../../../shared/budget/refusal.ts";
import type { BudgetFacts, PodFacts } from "../../../shared/kube/facts.ts";
import { budget, owner, pod } from "../../support/fixtures.ts";

const LABELS = { app: "web" };
const ready = pod({ labels: LABELS, ready: true });
const selector = { matchLabels: LABELS, matchExpressions: [] };
const allows = (disruptionsAllowed: number) => ({
  observedGeneration: 1,
  currentHealthy: 2,
  desiredHealthy: 2,
  disruptionsAllowed,
});

function owners(disruptionsAllowed: number, tweak: Partial<BudgetFacts> = {}): BudgetFacts {
  const status = allows(disruptionsAllowed);
  return budget({ name: "theirs", managedByUs: false, owners: [], selector, ...tweak, status });
}

const ofCeph = [owner({ kind: "CephCluster", name: "ceph" })];

// prettier-ignore
test.each<[string, PodFacts, readonly BudgetFacts[], reason: string | undefined]>([
  ["no budget",                                                   ready, [],                                                     undefined],
  ["a budget that allows a disruption",                           ready, [owners(1)],                                            undefined],
  ["a budget that allows no disruption",                          ready, [owners(0)],                                            "BudgetExhausted"],
  ["a budget in another namespace",                               ready, [owners(0, { namespace: "other" })],                    undefined],
  ["a budget that was not counted yet",                           ready, [owners(1, { generation: 2 })],                         "BudgetExhausted"],
  ["two budgets",                                                 ready, [owners(1), owners(1)],                                 "SeveralBudgets"],
  ["a VM's budget of Lifeboat",                                   ready, [owners(0, { managedByUs: true, owners: [owner()] })],  undefined],
  ["a VM's budget of another party",                              ready, [owners(0, { owners: [owner()] })],                     "BudgetExhausted"],
  ["the budget of Lifeboat's own Deployment",                     ready, [owners(0, { managedByUs: true })],                     "BudgetExhausted"],
  ["a budget that an operator owns",                              ready, [owners(0, { owners: ofCeph })],                        "BudgetOfController"],
  ["a budget that an operator only refers to",                    ready, [owners(0, { owners: [owner({ kind: "CephCluster", controller: false })] })], "BudgetExhausted"],
  ["a budget with the name of the pod's operator",                pod({ ...ready, owners: ofCeph }), [owners(0, { name: "ceph" })], "BudgetOfController"],
  ["a budget with another name than the pod's operator",          pod({ ...ready, owners: ofCeph }), [owners(0)],                "BudgetExhausted"],
  ["a budget that spares unhealthy pods, and an unhealthy pod",   pod({ ...ready, ready: false }), [owners(0)],                  undefined],
  ["a budget and a pod that has ended",                           pod({ ...ready, phase: "Failed" }), [owners(0)],               undefined],
])("%s: the refusal of the eviction is $3", (_, of, budgets, reason) => {
  expect(refusedByBudget(of, budgets)?.reason).toBe(reason);
});

test.each(["ReplicaSet", "ReplicationController", "StatefulSet", "Job", "DaemonSet", "VirtualMachineInstance"])(
  "a %s with the budget's name did not create the budget",
  (kind) => {
    const of = pod({ ...ready, owners: [owner({ kind, name: "theirs" })] });
    expect(refusedByBudget(of, [owners(0)])?.reason).toBe("BudgetExhausted");
  },
);

const stop = (uid: string) => ({ pod: pod({ ...ready, uid }), isBack: false });
const restart = (uid: string) => ({ pod: pod({ ...ready, uid }), isBack: true });

const ofDb = { pod: pod({ ...ready, uid: "db", labels: { app: "db" } }), isBack: false };
const unhealthy = { pod: pod({ ...ready, uid: "unhealthy", ready: false }), isBack: false };

describe("with several guests and one budget, Lifeboat keeps", () => {
  // prettier-ignore
  test.each<[string, ending: readonly { readonly pod: PodFacts; readonly isBack: boolean }[], budgets: readonly BudgetFacts[], kept: readonly string[]]>([
    ["none if the budget allows both stops",                      [stop("a"), stop("b")],       [owners(2)],                          []],
    ["the second if the budget allows one stop",                  [stop("a"), stop("b")],       [owners(1)],                          ["b"]],
    ["none of the restarts if the budget allows one disruption",  [restart("a"), restart("b")], [owners(1)],                          []],
    ["the restart, because stops come first",                     [restart("a"), stop("b")],    [owners(1)],                          ["a"]],
    ["none for the budget of a VMI",                              [stop("a")],                  [owners(0, { owners: [owner()] })],   []],
    ["none because of another budget's allowed disruptions",      [stop("a"), stop("b")],       [owners(2), owners(1, { namespace: "other" })], []],
    ["none if each has a budget of its own",                      [stop("a"), ofDb],            [owners(1), owners(1, { selector: { ...selector, matchLabels: { app: "db" } } })], []],
    ["an unhealthy one if a stop leaves too few healthy pods",    [stop("a"), unhealthy],       [owners(1)],                          ["unhealthy"]],
  ])("%s", (_, ending, budgets, kept) => expect([...keptByBudgets(ending, budgets).keys()]).toEqual(kept));
});
