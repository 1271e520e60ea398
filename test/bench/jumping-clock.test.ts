/** Waiting is left out, and only waiting. */
import { expect, test } from "vitest";
import { createJumpingClock } from "../../infra/bench/jumping-clock.ts";

const HOUR_MS = 3_600_000;

test("timers run at once, in the order in which they are due, each at its time; one that was cancelled does not", async () => {
  const clock = createJumpingClock(() => false);
  const begun = clock.now().getTime();
  const ran: [string, hours: number][] = [];
  const run = (name: string) => ran.push([name, Math.floor((clock.now().getTime() - begun) / HOUR_MS)]);
  await new Promise<void>((resolve) => {
    clock.setTimer(3 * HOUR_MS, () => resolve(void run("last")));
    clock.setTimer(2 * HOUR_MS, () => run("second"));
    clock.setTimer(HOUR_MS, () => run("cancelled"))();
    clock.setTimer(HOUR_MS, () => run("first"));
  });
  expect(ran).toEqual([
    ["first", 1],
    ["second", 2],
    ["last", 3],
  ]);
});

test("while a request is under way no timer runs early; once it is answered, they do", async () => {
  let isBusy = true;
  const clock = createJumpingClock(() => isBusy);
  let ran = false;
  const done = new Promise<void>((resolve) => {
    clock.setTimer(HOUR_MS, () => {
      ran = true;
      resolve();
    });
  });
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(ran).toBe(false);
  isBusy = false;
  clock.settle();
  await done;
  expect(ran).toBe(true);
});
