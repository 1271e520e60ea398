/** The loop of every actor, without a cluster: which keys are reconciled, when, how often. */
import { describe, expect, test } from "vitest";
import { createSteppedClock } from "../../actors/clock.ts";
import { startController, type Result } from "../../actors/controller.ts";
import { StatusError } from "../../actors/status-error.ts";

function start(answers: (Result | Error)[] = []) {
  const clock = createSteppedClock();
  const seen: string[] = [];
  const errors: unknown[] = [];
  const running: { key: string; finish: () => void }[] = [];
  const controller = startController({
    name: "test",
    clock,
    workers: 2,
    onError: (error) => errors.push(error),
    async reconcile(key) {
      seen.push(key);
      await new Promise<void>((finish) => running.push({ key, finish }));
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  return {
    clock,
    controller,
    seen,
    errors,
    running,
    /** Ends the oldest reconciliation, and lets the next ones begin. */
    finish: async () => {
      running.shift()?.finish();
      await settle();
    },
  };
}

/** After this, everything has happened that needs no time to pass. */
async function settle() {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

describe("a controller", () => {
  test("reconciles one key at a time, and once more if it changed meanwhile", async () => {
    const { controller, seen, finish } = start();
    controller.enqueue("a");
    await settle();
    controller.enqueue("a");
    controller.enqueue("a");
    await settle();
    expect(seen).toEqual(["a"]);
    await finish();
    expect(seen).toEqual(["a", "a"]);
    await finish();
    expect(seen).toEqual(["a", "a"]);
    await controller.stop();
  });

  test("reconciles as many keys at once as it has workers", async () => {
    const { controller, seen, finish } = start();
    for (const key of ["a", "b", "c"]) controller.enqueue(key);
    await settle();
    expect(seen).toEqual(["a", "b"]);
    await finish();
    expect(seen).toEqual(["a", "b", "c"]);
    await finish();
    await finish();
    await controller.stop();
  });

  test("comes back when asked to, at the earliest of several times", async () => {
    const { controller, seen, clock, finish } = start([{ requeueAfterMs: 1_000 }]);
    controller.enqueue("a");
    await settle();
    await finish();
    controller.enqueue("a", 400);
    controller.enqueue("a", 700);
    clock.advance(399);
    await settle();
    expect(seen).toEqual(["a"]);
    clock.advance(1);
    await settle();
    expect(seen).toEqual(["a", "a"]);
    await finish();
    await controller.stop();
  });

  // prettier-ignore
  const failures: readonly (readonly [what: string, error: Error, reported: boolean])[] = [
    ["a failure",       new Error("no"),                                                          true ],
    ["a refusal",       new StatusError(403, { reason: "Forbidden" }, "GET"),                     true ],
    ["a conflict",      new StatusError(409, { reason: "Conflict" }, "PUT"),                      false],
    ["an object gone",  new StatusError(404, { reason: "NotFound" }, "PUT"),                      false],
  ];
  test.each(failures)("%s is tried again, later each time", async (_, error, reported) => {
    const { controller, seen, clock, errors, finish } = start([error, error]);
    controller.enqueue("a");
    await settle();
    await finish();
    clock.advance(5);
    await settle();
    expect(seen).toEqual(["a", "a"]);
    await finish();
    clock.advance(9);
    await settle();
    expect(seen).toEqual(["a", "a"]);
    clock.advance(1);
    await settle();
    expect(seen).toEqual(["a", "a", "a"]);
    await finish();
    expect(errors).toEqual(reported ? [error, error] : []);
    await controller.stop();
  });

  test("once stopped does nothing more, and waits for what is under way", async () => {
    const { controller, seen, clock, running, finish } = start([{ requeueAfterMs: 10 }]);
    controller.enqueue("a");
    await settle();
    let stopped = false;
    const stopping = controller.stop().then(() => (stopped = true));
    await settle();
    expect(stopped).toBe(false);
    await finish();
    await stopping;
    controller.enqueue("b");
    clock.advance(60_000);
    await settle();
    expect(seen).toEqual(["a"]);
    expect(running).toEqual([]);
  });
});

describe("the stepped clock", () => {
  test("fires what is due in order, each at its time, and what they start in turn", () => {
    const clock = createSteppedClock(new Date(0));
    const fired: [string, number][] = [];
    const note = (name: string) => () => void fired.push([name, clock.now().getTime()]);
    clock.setTimer(200, note("second"));
    clock.setTimer(100, () => {
      note("first")();
      clock.setTimer(50, note("started by the first"));
    });
    const cancel = clock.setTimer(120, note("cancelled"));
    clock.setTimer(1_001, note("too late"));
    cancel();
    clock.advance(1_000);
    expect(fired).toEqual([
      ["first", 100],
      ["started by the first", 150],
      ["second", 200],
    ]);
    expect(clock.now().getTime()).toBe(1_000);
  });
});
