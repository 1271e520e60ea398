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

test.each(["test", "1", "7"])("50 VMs are drained under every fault, seed %s", (seed) => {
  const large = FAULT_NAMES.map((_, i) => drawPlan({ seed, run: (i + 1) * LARGE_EVERY }));
  expect(new Set(large.flatMap(({ faults }) => faults))).toEqual(new Set(FAULT_NAMES));
  for (const { faults, vms } of large) {
    expect(agree(faults), faults.join()).toBe(true);
    expect(vms.filter(({ place }) => place === "Drained")).toHaveLength(50);
  }
});

// prettier-ignore
test.each<[boolean, readonly FaultName[]]>([
  [true,  ["WorkerDown", "MemoryPressure"]],
  [false, ["WorkerDown", "Preemption"]],
  [false, ["NoExecuteTaint", "Latency", "WorkerKilled"]],
  [false, ["NoExecuteTaintComesAndGoes", "WorkerDown"]],
  [false, ["NodeTermination", "WorkerKilled"]],
  [true,  ["RefusedVms", "WorkerDown"]],
  [true,  ["WorkerDown", "ForeignMigrations"]],
  [true,  ["WorkerKilled", "DrainTaint", "ControllerToggled"]],
  [true,  ["BrokenReviews", "Preemption", "NoExecuteTaint"]],
  [true,  ["BrokenReviews", "ForeignMigrations"]],
  [true,  ["Blind", "Preemption", "NodeTermination"]],
  [false, ["Blind", "SoftEviction"]],
  [false, ["RefusedVms", "ForeignMigrations"]],
  [false, ["RefusedVms", "WorkloadUpdates"]],
  [false, ["ControllerOff", "ControllerToggled"]],
  [false, ["CertificateEnds", "ClockSkew"]],
  [true,  ["CertificateEnds", "LeaseLost", "WorkerKilled"]],
])("may be combined, %s: %j", (agrees, faults) => expect(agree(faults)).toBe(agrees));

const placed = ({ vms }: Plan, place: string) => vms.filter((vm) => vm.place === place);
const rules = ({ faults }: Plan) => faults.map(rowOf);
const isSorted = (times: readonly number[]) => times.every((at, i) => i === 0 || at >= (times[i - 1] ?? 0));

// prettier-ignore
const ALWAYS: Readonly<Record<string, (plan: Plan) => boolean>> = {
  "what silences Lifeboat never meets what needs its guard": (plan) => !rules(plan).some((row) => row.silences) || !rules(plan).some((row) => row.needsGuard),
  "every twentieth run drains 50 VMs": (plan) => plan.run % 20 !== 0 || placed(plan, "Drained").length === 50,
  "the others drain 3 to 15": (plan) => plan.run % 20 === 0 || (placed(plan, "Drained").length >= 3 && placed(plan, "Drained").length <= 15),
  "a VM that is always refused is drained, in runs that are about it": (plan) => placed(plan, "Drained").some(isRefused) === plan.faults.includes("RefusedVms"),
  "things happen in order": ({ moments }) => isSorted(moments.map(({ at }) => at)),
  "all is over when the faults stop, but owners' stops after a SIGTERM": ({ moments, calmAt }) => moments.every(({ at, fault }) => at <= (fault === "SoftEviction" ? 10_000 : Math.max(calmAt, 1000))),
  "of the covered VMs owners leave one": (plan) => plan.moments.filter(({ fault, does }) => fault === "SoftEviction" && does === "delete").length <= Math.max(0, placed(plan, "Covered").length - 1),
  "nothing happens but by a fault of the run": ({ moments, faults }) => moments.every(({ fault }) => faults.includes(fault)),
  "it happens to VMs that there are": ({ moments, vms }) => moments.every((moment) => !("vm" in moment) || vms.some(({ name }) => name === moment.vm)),
  "nothing but descheduling moves a VM off the retired node": ({ moments }) => !moments.some((moment) => moment.does === "evacuate" && moment.vm.startsWith("retired")),
  "a taint that comes and goes does so several times": (plan) => !plan.faults.includes("NoExecuteTaintComesAndGoes") || plan.moments.filter(({ does }) => does === "taint for a while").length > 1,
  "several Workers by that fault only, and two replicas at least": ({ workers, faults, form }) => workers.length > 1 === (faults.includes("SeveralWorkers") || form === "InCluster"),
  "what only the in-cluster form has happens there": ({ form, faults }) => form === "InCluster" || !faults.some((name) => rowOf(name).inCluster),
  "a certificate ends by that fault only": ({ certificateSeconds, faults }) => faults.includes("CertificateEnds") === (certificateSeconds !== undefined),
  "with the relay in the cluster": ({ form, relayed }) => form === "Worker" || relayed,
  "clocks are skewed by that fault only": ({ workers, faults }) => faults.includes("ClockSkew") || workers.every((skew) => skew === 0),
  "Workers die by that fault only": ({ kills, faults }) => kills.length > 0 === faults.includes("WorkerKilled"),
  "many ticks, or the relay and few": ({ tickMs, relayed }) => tickMs >= 3000 === relayed,
  "budgets, where VMs are refused or virt-api's requests break": (plan) => plan.budgeted || !(plan.faults.includes("RefusedVms") || rules(plan).some((row) => row.breaksVirtApi)),
};
test.each(Object.entries(ALWAYS))("in every plan: %s", (_, holds) => {
  expect(plans.filter((plan) => !holds(plan))).toEqual([]);
});

describe("the cast", () => {
  const cast = plans.flatMap(({ vms }) => vms);

  test("every strategy, movable or not, and every way for migrations to end", () => {
    const kinds = new Set(cast.map(({ strategy, migratable }) => `${strategy} ${migratable ? "movable" : "pinned"}`));
    const strategies = ["External", "LiveMigrate", "LiveMigrateIfPossible", "None", "Unknown"];
    expect(kinds).toEqual(new Set(strategies.flatMap((strategy) => [`${strategy} movable`, `${strategy} pinned`])));
    expect(new Set(cast.map(({ failures }) => failures))).toEqual(new Set([0, 1, 3, Infinity]));
  });

  test("a taint that comes and goes finds VMs that are held, that can never move, and that are let go", () => {
    const unsettled = cast.filter(({ place }) => place === "Unsettled");
    expect(unsettled.some(({ strategy, migratable }) => strategy === "External" && !migratable)).toBe(true);
    expect(unsettled.some(({ strategy, migratable }) => strategy === "LiveMigrate" && migratable)).toBe(true);
    expect(unsettled.some(isLetGo)).toBe(true);
  });

  test("a VM that must be gone before a deadline can move", () => {
    const onTop = cast.filter(({ place }) => place !== "Drained" && place !== "Unsettled");
    expect(new Set(onTop.map(({ place }) => place))).toEqual(
      new Set(["Preempted", "Tainted", "Ending", "Pressed", "Covered", "Exposed", "Retired"]),
    );
    expect(onTop.filter(({ migratable, failures }) => !migratable || failures > 1)).toEqual([]);
  });
});

describe("the timeline", () => {
  test("a taint comes for a moment, or for longer than a migration takes", () => {
    const moments = plans.flatMap((plan) => plan.moments);
    const times = moments.flatMap((moment) => (moment.does === "taint for a while" ? [moment.ms] : []));
    expect(Math.min(...times)).toBeLessThan(20);
    expect(Math.max(...times)).toBeGreaterThan(1000);
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

test("Workers have clocks a minute fast and slow, and die after every number of writes from 0 to 12", () => {
  expect(new Set(plans.flatMap(({ workers }) => workers))).toEqual(new Set([60, -60, 0]));
  const kills = new Set(plans.flatMap((plan) => plan.kills));
  expect([...kills].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 13 }, (_, i) => i));
});

test("some runs have a relay, and some VMs without budgets", () => {
  expect(new Set(plans.map(({ relayed }) => relayed)).size).toBe(2);
  expect(plans.filter(({ budgeted }) => !budgeted).length).toBeGreaterThan(plans.length / 10);
});

test("about one run in four is in the cluster", () => {
  const share = plans.filter(({ form }) => form === "InCluster").length / plans.length;
  expect(share).toBeGreaterThan(0.2);
  expect(share).toBeLessThan(0.35);
});

function inForm(form: Plan["form"]): readonly Plan[] {
  return plans.map(({ run }) => drawPlan({ seed: "test", run, form }));
}

test("in a form that is asked for, nothing is drawn that it does not have", () => {
  expect(inForm("InCluster").filter(({ form }) => form !== "InCluster")).toEqual([]);
  const outside = inForm("Worker");
  expect(outside.filter(({ form, faults }) => form !== "Worker" || faults.includes("LeaseLost"))).toEqual([]);
  expect(drawPlan({ seed: "test", run: 1, only: ["LeaseLost"] }).form).toBe("InCluster");
});

test("what is asked for is not drawn", () => {
  const plan = drawPlan({ seed: "test", run: 20, vms: 2, only: ["Outage"] });
  expect(plan.faults).toEqual(["Outage"]);
  expect(plan.vms).toHaveLength(2);
});

test("on a real control plane nothing is drawn that only a simulated one can suffer", () => {
  const plans = Array.from({ length: 200 }, (_, i) => drawPlan({ seed: "real", run: i + 1, real: true }));
  const drawn = plans.flatMap(({ faults }) => faults);
  expect(drawn.filter((name) => rowOf(name).simulated)).toEqual([]);
  expect(plans.flatMap(({ vms }) => vms).filter(({ strategy }) => strategy === "Unknown")).toEqual([]);
  expect(new Set(drawn).size).toBeGreaterThan(20);
});
