/** What is printed, and what makes a run a bad one. */
import { describe, expect, test } from "vitest";
import { drawPlan } from "../../infra/chaos/plan.ts";
import { isBad, type RunReport, totalsOf } from "../../infra/chaos/report.ts";
import { renderBadRun, renderProgress, renderTotals } from "../../infra/chaos/table.ts";

function report(tweak: Partial<RunReport> = {}): RunReport {
  const nothing = { lost: [], breaches: [], hung: [], inVain: {}, asked: 0, cycles: {}, mostRunning: 2, reached: [] };
  const counts = { fates: { moved: 3 }, endings: { Moved: 3 }, causes: { ApiEviction: 3 }, faults: { Error: 4 } };
  return { run: 1, form: "Worker", drawn: ["ServerErrors"], ms: 2000, vms: 3, ...counts, ...nothing, ...tweak };
}

// prettier-ignore
const rows: readonly (readonly [Partial<RunReport>, boolean])[] = [
  [{},                                  false],
  [{ lost: ["run-1/web"] },             true],
  [{ breaches: ["3 of 2"] },            true],
  [{ hung: ["run-1/web is marked"] },   true],
];
test.each(rows)("%j is bad: %s", (tweak, bad) => expect(isBad(report(tweak))).toBe(bad));

describe("the end", () => {
  const reports = [
    report(),
    report({ run: 2, ms: 5000, fates: { moved: 2, lost: 1 }, lost: ["run-2/db"], faults: { Latency: 1, Error: 1 } }),
    report({ run: 3, ms: 2000, breaches: ["a", "b"], hung: ["c"] }),
    report({
      run: 4,
      inVain: { cancel: 2 },
      form: "InCluster",
      drawn: ["LeaseLost", "ServerErrors"],
      asked: 2,
      cycles: { "200": 5 },
      mostRunning: 4,
      reached: ["node"],
    }),
    // prettier-ignore
    report({ run: 5, inVain: { cancel: 1, unmark: 1 }, asked: 1, cycles: { "200": 1, "503": 2 }, reached: ["cluster", "node"] }),
  ];

  test("everything is added up", () => {
    expect(renderTotals(totalsOf(reports), 9)).toMatchInlineSnapshot(`
      "form            runs  VMs  VMs lost  runs broken  runs hung
        InCluster        1    3         0            0          0
        Worker           4   12         1            1          1
      fault           runs  VMs  VMs lost  runs broken  runs hung
        LeaseLost        1    3         0            0          0
        ServerErrors     5   15         1            1          1

      runs                      5 in 9 s; 2.6 s on average, the longest 5.0 s (run 2)
      VMs                       15: moved 14, lost 1
      evacuations by cause      ApiEviction 15
      evacuations ended         Moved 15
      faults                    Error 17, Latency 1
      tried in vain             cancel 3, unmark 1
      descheduling              3 VMs asked for; cycles: 200 × 6, 503 × 2
      migrations at once        4 at most; runs at a limit: node 2, cluster 1
      runs with a limit broken  1
      runs with something hung  1
      VMs lost: 1"
    `);
  });

  test("meanwhile", () => {
    const line = "9 s: 5 of 20 runs, 15 VMs, lost 1, runs broken 1, runs hung 1";
    expect(renderProgress(totalsOf(reports), 20, 9)).toBe(line);
  });

  test("what there was none of", () => {
    expect(renderTotals(totalsOf([report({ faults: {} })]), 2)).toMatchInlineSnapshot(`
      "form            runs  VMs  VMs lost  runs broken  runs hung
        Worker           1    3         0            0          0
      fault           runs  VMs  VMs lost  runs broken  runs hung
        ServerErrors     1    3         0            0          0

      runs                      1 in 2 s; 2.0 s on average, the longest 2.0 s (run 1)
      VMs                       3: moved 3
      evacuations by cause      ApiEviction 3
      evacuations ended         Moved 3
      faults                    none
      tried in vain             none
      descheduling              0 VMs asked for; cycles: none
      migrations at once        2 at most; runs at a limit: none
      runs with a limit broken  0
      runs with something hung  0
      VMs lost: 0"
    `);
  });
});

test("a bad run says how to have it again, what was wrong, and its plan", () => {
  const plan = drawPlan({ seed: "s", run: 7, vms: 1, only: ["WorkerKilled"] });
  const bad = report({ run: 7, lost: ["run-7/vm-01"], breaches: ["3 of 2"], hung: ["run-7/vm-02 is marked"] });
  const [what, how = ""] = renderBadRun(bad, plan).split("\n  plan: ");
  expect(what).toMatchInlineSnapshot(`
    "run 7 failed: npm run chaos -- --seed s --runs 1 --from 7
      lost: run-7/vm-01
      broken: 3 of 2
      hung: run-7/vm-02 is marked
      faults: Error 4"
  `);
  expect(JSON.parse(how)).toMatchObject({ kills: plan.kills, vms: [expect.stringMatching(/^vm-01 Drained/)] });
});
