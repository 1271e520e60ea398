/** A tick that finds a node being emptied stays and looks again: without a relay nothing else says that the next VM may leave. */
import { expect, test } from "vitest";
import { runTick } from "../../../functions/schedule.ts";
import { newIsolateState } from "../../../functions/target.ts";
import { tickTime } from "../../../infra/lab/stage/tick-times.ts";
import { entry, newPlatform, NOW } from "../../support/doors.ts";
import { SERVER } from "../../support/fake-cluster.ts";
import { vmiOf } from "../../support/preflight/fixtures.ts";
import { created, kubevirt, phaseOf } from "../../support/maintenance/kernel.ts";

const CLUSTERS = JSON.stringify({ prod: entry(SERVER) });
const BEGAN = tickTime("prod", "small", NOW);

interface Ticked {
  readonly phase: string;
  readonly seconds: number;
}

/** Of two VMs that leave one after the other; `moves`: whether KubeVirt does its part. */
async function tick(stays: () => boolean, moves = true): Promise<Ticked> {
  const fake = created({ virtualMachines: { concurrency: 1, ownersChoice: "Ignored" } });
  fake.vmis.put(vmiOf("db"));
  fake.configure({ disruptionBudgets: "Never" });
  let now = BEGAN.getTime();
  const { platform } = newPlatform(undefined, BEGAN, {
    fetch: fake.api.fetch(),
    now: () => new Date(now),
    sleep: (ms) => {
      now += ms;
      if (moves) kubevirt(fake);
      return Promise.resolve();
    },
  });
  fake.now = platform.now;
  await runTick(BEGAN.getTime(), { env: { CLUSTERS }, platform, state: newIsolateState(), stays });
  return { phase: phaseOf(fake), seconds: (now - BEGAN.getTime()) / 1000 };
}

test("the node is empty some looks later, five seconds apart; the next one finds nothing under way, and the tick ends", async () => {
  const { phase, seconds } = await tick(() => true);
  expect(phase).toBe("Evacuated");
  expect(seconds).toBe(15);
});

test("it ends before the next one is due", async () => {
  expect(await tick(() => true, false)).toEqual({ phase: "Evacuating", seconds: 50 });
});

test("it ends where it may not stay, or not any more", async () => {
  expect(await tick(() => false)).toEqual({ phase: "Evacuating", seconds: 0 });
  let looks = 0;
  expect((await tick(() => (looks += 1) < 2)).seconds).toBe(5);
});
