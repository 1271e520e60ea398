/**
 * Makes plans for random clusters, maintains the nodes in order, and compares the results with the plans. The sandbox's
 * scheduler places the pods.
 */
import { expect, test } from "vitest";
import { seededLots } from "../../../infra/sandbox/index.ts";
import { carryOut } from "../../support/plan/carried-out.ts";
import { fleetFor, objectsOf } from "../../support/plan/fleet.ts";
import { historyOf, paceFor, secondsFor } from "../../support/plan/pace.ts";
import { type Compared, compare, planFor } from "../../support/plan/promises.ts";

const FLEETS = Number(process.env["PLAN_FLEETS"] ?? (process.env["LIFEBOAT_NIGHTLY"] === undefined ? 10 : 200));
/** The seed of the first cluster. Each cluster has its own seed, which also decides the scheduler's random choices. */
const SEED = Number(process.env["PLAN_SEED"] ?? 20_261_128);

const MIGRATIONS = "virtualmachineinstancemigrations";

test(
  `${FLEETS} random fleets: outcomes of VMs, promises and the end of a plan come true`,
  { timeout: 7_200_000 },
  async () => {
    const all: Compared[] = [];
    let inRange = 0;
    for (let seed = SEED; seed < SEED + FLEETS; seed += 1) {
      const fleet = fleetFor(seed);
      const order = fleet.nodes.map(({ metadata }) => metadata.name);
      const pace = paceFor(seed);
      const plan = await planFor({ ...objectsOf(fleet), [MIGRATIONS]: historyOf(fleet, pace) }, order);
      const steps = carryOut(fleet, order, seededLots(seed + 1));
      all.push(compare(plan, steps));
      const seconds = secondsFor(steps, fleet, pace);
      if (plan.takes.least <= seconds && seconds <= plan.takes.most) inRange += 1;
    }
    const sum = (of: (one: Compared) => number) => all.reduce((total, one) => total + of(one), 0);
    const judged = sum(({ vms, unknown }) => vms - unknown);
    const broken = all.flatMap(({ brokenPromises }, at) => brokenPromises.map((one) => `fleet ${at}, ${one}`));
    expect(broken.filter((one) => one.includes(": WillSucceed,"))).toEqual([]);
    // A stopped VM can start on several nodes, and kube-scheduler chooses at random. A plan does not try every choice.
    // In 200 clusters, 3 of 1,455 verdicts were wrong.
    const promised = sum(({ verdicts }) => verdicts.filter((one) => one.startsWith("WillSucceed")).length);
    expect(new Set(broken.map((one) => one.split(":")[0])).size / promised).toBeLessThan(0.005);
    expect(judged / sum(({ vms }) => vms)).toBeGreaterThan(0.8);
    expect(sum(({ right }) => right) / judged).toBeGreaterThanOrEqual(0.995);
    expect(inRange / FLEETS).toBeGreaterThanOrEqual(0.9);
  },
);
