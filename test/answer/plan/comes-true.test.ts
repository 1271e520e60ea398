/** Random fleets: the plan is made, then the nodes are maintained one after the other as the sandbox's scheduler places pods. */
import { expect, test } from "vitest";
import { carryOut } from "../../support/plan/carried-out.ts";
import { fleetFor, objectsOf } from "../../support/plan/fleet.ts";
import { type Compared, compare, planFor } from "../../support/plan/promises.ts";

const FLEETS = Number(process.env["PLAN_FLEETS"] ?? 10);
/** The seed of the first fleet. Each fleet has its own. */
const SEED = Number(process.env["PLAN_SEED"] ?? 20_261_128);

test(
  `${FLEETS} random fleets: outcomes of VMs come true, and every promise holds`,
  { timeout: 7_200_000 },
  async () => {
    const all: Compared[] = [];
    for (let seed = SEED; seed < SEED + FLEETS; seed += 1) {
      const fleet = fleetFor(seed);
      const order = fleet.nodes.map(({ metadata }) => metadata.name);
      all.push(compare(await planFor(objectsOf(fleet), order), carryOut(fleet, order)));
    }
    const sum = (of: (one: Compared) => number) => all.reduce((total, one) => total + of(one), 0);
    const judged = sum(({ vms, unknown }) => vms - unknown);
    expect(all.map(({ brokenPromises }) => brokenPromises)).toEqual(all.map(() => []));
    // Most of it has to be judged at all.
    expect(judged / sum(({ vms }) => vms)).toBeGreaterThan(0.8);
    expect(sum(({ right }) => right) / judged).toBeGreaterThanOrEqual(0.995);
  },
);
