/**
 * Tests that no VM is lost if Lifeboat is down, or cannot read from the API server, during a disruption.
 * kube-controller-manager resets the pods' condition DisruptionTarget after two minutes. Lifeboat can be down for
 * longer, because policies in the API server protect the pods. The clock runs in real time, because these policies
 * measure seconds.
 */
import { describe, expect, test } from "vitest";
import { setTimeout as delay } from "node:timers/promises";
import { isFinal, isSimulated } from "../../infra/sandbox/index.ts";
import {
  createVms,
  eventually,
  MAINTENANCE,
  moved,
  namesOf,
  preempt,
  type Scene,
  start,
  taint,
  untilPreempted,
} from "./victims.ts";

const COUNT = 12;
const FEW = 4;
const TIMEOUT_MS = 400_000;
const USER = "system:serviceaccount:lifeboat-system:lifeboat";

type Cause = "preemption" | "taint";
type Trouble = "is away" | "cannot read";
type Begin = "just before" | "in the middle of";

const disrupt = (scene: Scene, cause: Cause) =>
  cause === "taint" ? taint(scene, MAINTENANCE) : preempt(scene, "preemptor", "64Gi");

/** Calls `during` while Lifeboat is down or cannot read from the API server. */
async function absence({ stage }: Scene, trouble: Trouble, during: () => Promise<void>): Promise<void> {
  if (trouble === "is away") {
    await stage.stopWorker();
    await during();
    return await stage.restartWorker();
  }
  const { sandbox } = stage;
  if (!isSimulated(sandbox)) throw new Error("a real API server does not fail on request");
  const reads = { users: [USER], verbs: ["get", "list"] } as const;
  const stop = sandbox.apiServer.faults.inject({ match: reads, effect: { type: "Error", code: 503 } });
  await during();
  stop();
}

// prettier-ignore
const ROWS: readonly (readonly [Cause, Trouble, seconds: number, Begin, ("nightly")?])[] = [
  ["preemption", "is away",     5,   "just before",      "nightly"],
  ["taint",      "is away",     5,   "just before"],
  ["preemption", "is away",     20,  "just before",      "nightly"],
  ["preemption", "is away",     20,  "in the middle of", "nightly"],
  ["preemption", "is away",     60,  "just before",      "nightly"],
  ["preemption", "is away",     60,  "in the middle of", "nightly"],
  ["preemption", "cannot read", 40,  "just before",      "nightly"],
  ["preemption", "cannot read", 40,  "in the middle of", "nightly"],
  ["taint",      "is away",     20,  "just before",      "nightly"],
  ["taint",      "is away",     60,  "in the middle of", "nightly"],
  ["taint",      "is away",     130, "just before",      "nightly"],
  ["taint",      "cannot read", 40,  "just before",      "nightly"],
  ["preemption", "is away",     5,   "in the middle of", "nightly"],
  ["taint",      "is away",     20,  "in the middle of", "nightly"],
  ["taint",      "cannot read", 40,  "in the middle of", "nightly"],
];

describe("no VM is lost", { timeout: TIMEOUT_MS }, () => {
  for (const [cause, trouble, seconds, begin, night] of ROWS) {
    test(
      `when Lifeboat ${trouble} for ${seconds} s, starting ${begin} a ${cause}`,
      { tags: night ? [night] : [] },
      async (context) => {
        const scene = await start(context, { faster: 1 });
        const { stage } = scene;
        const names = await createVms(scene, night ? COUNT : FEW);
        stage.sandbox.migrations.configure({ seconds: 5 });
        if (begin === "in the middle of") {
          await disrupt(scene, cause);
          await eventually(scene, async () => (await moved(scene)).length).toBeGreaterThan(0);
        }
        await absence(scene, trouble, async () => {
          if (begin === "just before") await disrupt(scene, cause);
          await delay(seconds * 1000);
        });
        await eventually(scene, () => moved(scene)).toEqual(names);
        expect(await namesOf(scene, ({ status }) => isFinal(status))).toEqual([]);
        if (cause === "preemption") await untilPreempted(scene, "preemptor");
      },
    );
  }
});
