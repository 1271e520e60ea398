/**
 * Plans: the same for the same seed and run, wild enough, and never what cannot be told from a defect.
 */
import { describe, expect, test } from "vitest";
import { isRefused } from "../../infra/chaos/cast.ts";
import { agree, FAULT_NAMES, type FaultName, rowOf } from "../../infra/chaos/fault-table.ts";
import { isLetGo } from "../../infra/chaos/judgement.ts";
import { drawPlan, LARGE_EVERY, type Plan } from "../../infra/chaos/plan.ts";

const plans: readonly Plan[] = Array.from({ length: 600 }, (_, i) => drawPlan({ seed: "test", run: i + 1 }));

const withFault = (fault: FaultName) => plans.filter(({ faults }) => faults.includes(fault));

test("the same seed and run: the same plan", () => {
  for (const plan of plans.slice(0, 50)) expect(drawPlan({ seed: "test", run: plan.run })).toEqual(plan);
  expect(drawPlan({ seed: "other", run: 1 })).not.toEqual(plans[0]);
});

test("every fault is drawn again and again, and most runs have several", () => {
  for (const fault of FAULT_NAMES) expect(withFault(fault).length, fault).toBeGreaterThan(10);
  expect(plans.filter(({ faults }) => faults.length > 2).length).toBeGreaterThan(plans.length / 2);
});

test("every pair of faults that may be combined is, by and by", () => {
  const pairs = new Set(plans.flatMap(({ faults }) => faults.flatMap((a) => faults.map((b) => `${a} ${b}`))));
  const frequent = FAULT_NAMES.filter((name) => rowOf(name).weight >= 4);
  const wanted = frequent.flatMap((a) => frequent.flatMap((b) => (agree([a, b]) ? [`${a} ${b}`] : [])));
  const missing = wanted.filter((pair) => !pairs.has(pair));
  expect(missing).toEqual([]);
});

test("every twentieth run drains 50 VMs, the others 3 to 15", () => {
  for (const { run, vms } of plans) {
    const drained = vms.filter(({ place }) => place === "Drained").length;
    if (run % 20 === 0) expect(drained).toBe(50);
    else expect(drained).toBeGreaterThanOrEqual(3);
    if (run % 20 !== 0) expect(drained).toBeLessThanOrEqual(15);
  }
});

test.each(["test", "1", "7"])("50 VMs are drained under every fault, seed %s", (seed) => {
  const large = FAULT_NAMES.map((_, i) => drawPlan({ seed, run: (i + 1) * LARGE_EVERY }));
  expect(new Set(large.flatMap(({ faults }) => faults))).toEqual(new Set(FAULT_NAMES));
  for (const { faults, vms } of large) {
    expect(agree(faults), faults.join()).toBe(true);
    expect(vms.filter(({ place }) => place === "Drained")).toHaveLength(50);
  }
});

describe("what silences Lifeboat", () => {
  const silenced = plans.filter(({ faults }) => faults.some((name) => rowOf(name).silences));

  test("never meets what needs its guard", () => {
    for (const { faults } of silenced) expect(faults.filter((name) => rowOf(name).needsGuard)).toEqual([]);
  });

  // prettier-ignore
  test.each<[boolean, readonly FaultName[]]>([
    [true,  ["WorkerDown", "MemoryPressure"]],
    [false, ["WorkerDown", "Preemption"]],
    [false, ["NoExecuteTaint", "Latency", "WorkerKilled"]],
    [false, ["NoExecuteTaintComesAndGoes", "WorkerDown"]],
    [true,  ["RefusedVms", "WorkerDown"]],
    [true,  ["WorkerDown", "ForeignMigrations"]],
    [true,  ["WorkerKilled", "DrainTaint", "ControllerToggled"]],
    [true,  ["BrokenReviews", "Preemption", "NoExecuteTaint"]],
    [true,  ["BrokenReviews", "ForeignMigrations"]],
    [false, ["RefusedVms", "ForeignMigrations"]],
    [false, ["ControllerOff", "ControllerToggled"]],
  ])("%s: %j", (agrees, faults) => expect(agree(faults)).toBe(agrees));
});

describe("the cast", () => {
  const cast = plans.flatMap(({ vms }) => vms);

  test("every strategy, movable or not, and every way for migrations to end", () => {
    const kinds = new Set(cast.map(({ strategy, migratable }) => `${strategy} ${migratable ? "movable" : "pinned"}`));
    const strategies = ["External", "LiveMigrate", "LiveMigrateIfPossible", "None", "Unknown"];
    expect(kinds).toEqual(new Set(strategies.flatMap((strategy) => [`${strategy} movable`, `${strategy} pinned`])));
    expect(new Set(cast.map(({ failures }) => failures))).toEqual(new Set([0, 1, 3, Infinity]));
  });

  test("a VM that is always refused is drained, in runs that are about it and in no other", () => {
    for (const { faults, vms } of plans) {
      const drained = vms.filter(({ place }) => place === "Drained");
      expect(drained.some(isRefused)).toBe(faults.includes("RefusedVms"));
    }
  });

  test("a taint that comes and goes finds VMs that are held, that can never move, and that are let go", () => {
    const unsettled = cast.filter(({ place }) => place === "Unsettled");
    expect(unsettled.some(({ strategy, migratable }) => strategy === "External" && !migratable)).toBe(true);
    expect(unsettled.some(({ strategy, migratable }) => strategy === "LiveMigrate" && migratable)).toBe(true);
    expect(unsettled.some(isLetGo)).toBe(true);
  });

  test("a VM that must be gone before a deadline can move", () => {
    const onTop = cast.filter(({ place }) => place !== "Drained" && place !== "Unsettled");
    expect(new Set(onTop.map(({ place }) => place))).toEqual(new Set(["Preempted", "Tainted", "Pressed", "Retired"]));
    expect(onTop.filter(({ migratable, failures }) => !migratable || failures > 1)).toEqual([]);
  });
});

describe("the timeline", () => {
  test("in order, over when the faults stop, about VMs that there are", () => {
    for (const { moments, calmAt, vms } of plans) {
      const times = moments.map(({ at }) => at);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(Math.max(0, ...times)).toBeLessThanOrEqual(Math.max(calmAt, 1000));
      const names = new Set(vms.map(({ name }) => name));
      for (const moment of moments) if ("vm" in moment) expect(names).toContain(moment.vm);
    }
  });

  test("nothing happens but by a fault of the run", () => {
    for (const { faults, moments } of plans) for (const { fault } of moments) expect(faults).toContain(fault);
  });

  test("a taint that comes and goes does so several times, for a moment or longer than a migration takes", () => {
    const times = withFault("NoExecuteTaintComesAndGoes").map(({ moments }) =>
      moments.flatMap((moment) => (moment.does === "taint for a while" ? [moment.ms] : [])),
    );
    for (const ms of times) expect(ms.length).toBeGreaterThan(1);
    expect(Math.min(...times.flat())).toBeLessThan(20);
    expect(Math.max(...times.flat())).toBeGreaterThan(1000);
  });

  test("only the calls about evictions break: the guard's always arrive", () => {
    const broken = plans.flatMap(({ moments }) => moments.filter(({ fault }) => fault === "BrokenReviews"));
    const types = broken.map((m) => (m.does === "inject" ? `${m.whom} ${m.effect.type}` : m.does));
    expect(new Set(types)).toEqual(new Set(["Evictions LostReview", "Evictions LostVerdict"]));
  });

  test("a lost answer is one to a write: what is read twice is read twice", () => {
    const lost = plans.flatMap(({ moments }) => moments.filter(({ fault }) => fault === "LostAnswers"));
    expect(new Set(lost.flatMap((m) => (m.does === "inject" ? (m.verbs ?? ["any"]) : [])))).not.toContain("get");
  });
});

describe("the Workers", () => {
  test("one, or several at once", () => {
    for (const { workers, faults } of plans) expect(workers.length > 1).toBe(faults.includes("SeveralWorkers"));
  });

  test("with clocks a minute fast and slow, if they are skewed", () => {
    const skews = withFault("ClockSkew").flatMap(({ workers }) => workers);
    expect(new Set(skews)).toEqual(new Set([60, -60, 0]));
    const others = plans.filter(({ faults }) => !faults.includes("ClockSkew"));
    expect(new Set(others.flatMap(({ workers }) => workers))).toEqual(new Set([0]));
  });

  test("die after every number of writes from 0 to 12", () => {
    const kills = new Set(plans.flatMap(({ kills }) => kills));
    expect([...kills].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, i) => i));
    for (const { kills, faults } of plans) expect(kills.length > 0).toBe(faults.includes("WorkerKilled"));
  });
});

test("what drives Lifeboat besides the drain: many ticks, or the relay and few", () => {
  for (const { relayed, tickMs } of plans) expect(tickMs >= 3000).toBe(relayed);
  expect(new Set(plans.map(({ relayed }) => relayed)).size).toBe(2);
});

test("VMs are without budgets in some runs, but not where some are refused or virt-api's requests break", () => {
  const without = plans.filter(({ budgeted }) => !budgeted);
  expect(without.length).toBeGreaterThan(plans.length / 10);
  for (const { faults } of without)
    expect(faults.filter((name) => name === "RefusedVms" || rowOf(name).breaksVirtApi)).toEqual([]);
});

test("nothing but descheduling moves a VM off the retired node", () => {
  for (const { moments } of plans)
    for (const moment of moments) if (moment.does === "evacuate") expect(moment.vm.startsWith("retired")).toBe(false);
});

test("what is asked for is not drawn", () => {
  const plan = drawPlan({ seed: "test", run: 20, vms: 2, only: ["Outage"] });
  expect(plan.faults).toEqual(["Outage"]);
  expect(plan.vms).toHaveLength(2);
});
