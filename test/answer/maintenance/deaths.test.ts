/**
 * Tests that Lifeboat can crash before or after any write. The next process continues the work, and each action happens
 * once.
 */
import { describe, expect, test } from "vitest";
import type { RequestInfo } from "../../support/cluster/request-info.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { openApp } from "../../support/app.ts";
import { node, NODE } from "../../support/fixtures.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";

type Death = "before" | "after";

interface Run {
  readonly fake: FakeCluster;
  /** The number of writes in the first run. */
  readonly writes: number;
  readonly restarts: readonly string[];
}

const LIVES = 12;

function die(now: boolean): void {
  if (now) throw new TypeError("dead");
}

/** Lets the first run crash at write `n`, before or after the write. A crashed run sends no more requests. */
function dying([n, death]: readonly [number, Death]) {
  let [life, writes] = [0, 0];
  const isDying = () => life === 0 && writes >= n;
  return {
    writes: () => writes,
    bear: () => void (life += 1),
    write<T>(work: () => T): T {
      die(isDying());
      writes += life === 0 ? 1 : 0;
      die(isDying() && death === "before");
      const done = work();
      die(isDying());
      return done;
    },
  };
}

/** Restarts Lifeboat until the NodeEvacuation has the phase `until`. */
async function run(spec: object, death: readonly [number, Death], until: string): Promise<Run> {
  const fake = created(spec);
  const restarts: string[] = [];
  const lives = dying(death);
  const answerTo = (asked: RequestInfo) => {
    if (asked.subresource !== "restart") return fake.api.answer(asked);
    restarts.push(fake.vmis.get(asked)?.uid ?? "");
    return { code: 202, body: {} };
  };
  const app = openApp(fake, (_, asked) => {
    if (asked === undefined || asked.verb === "get" || asked.verb === "list") return undefined;
    const { code, body } = lives.write(() => answerTo(asked));
    return new Response(JSON.stringify(body), { status: code });
  });
  for (let life = 0; life < LIVES && phaseOf(fake) !== until; life++) {
    await app.reconcile();
    await app.settle();
    kubevirt(fake, new Set(restarts));
    app.pass(61);
    lives.bear();
  }
  return { fake, writes: lives.writes(), restarts };
}

const ends = ({ fake }: Run) => fake.evacuations.list().map(({ spec, status }) => `${spec.vmiName} ${status.phase}`);

async function everyDeath(spec: object, until: string, check: (result: Run) => void): Promise<number> {
  for (let n = 1; ; n++) {
    for (const death of ["before", "after"] as const) {
      const result = await run(spec, [n, death], until);
      expect([n, death, phaseOf(result.fake)]).toEqual([n, death, until]);
      check(result);
      if (result.writes < n) return n;
    }
  }
}

describe("after a crash between any two writes", () => {
  test("VMs move and restart once, and the node is empty", async () => {
    const spec = { virtualMachines: { whenBlocked: "Restart" } };
    const deaths = await everyDeath(spec, "Evacuated", (result) => {
      expect(ends(result).toSorted()).toEqual(["db Restarted", "web Moved"]);
      expect(result.restarts).toEqual(["vmi-db"]);
      expect(result.fake.nodes.get({ name: NODE })).toMatchObject({
        unschedulable: true,
      });
    });
    expect(deaths).toBeGreaterThan(4);
  });

  test("a refused NodeEvacuation leaves the node schedulable", async () => {
    const deaths = await everyDeath({ startIf: "WillSucceed" }, "Refused", (result) => {
      expect(ends(result)).toEqual([]);
      expect(result.fake.nodes.get({ name: NODE })).toEqual(node({ name: NODE }));
    });
    expect(deaths).toBeGreaterThan(2);
  });
});
