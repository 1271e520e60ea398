/** Passes, one after another: which of them look at what was named. */
import { expect, test } from "vitest";
import { Drives } from "../../shared/reconcilers/drive.ts";
import type { Result } from "../../shared/reconcilers/pass.ts";
import { type Pointer, pointerKey } from "../../shared/reconcilers/pointer.ts";

const VMI: Pointer = { kind: "VirtualMachineInstance", namespace: "apps", name: "one" };

type Outcome = Pick<Result, "requeueAfterSeconds" | "failures">;

const IDLE: Outcome = { failures: 0 };

// prettier-ignore
const rows: readonly (readonly [first: string, outcome: Outcome, named: readonly number[]])[] = [
  ["leaves nothing to do",          IDLE,                                     [1]   ],
  ["waits for something",           { requeueAfterSeconds: 2, failures: 0 },  [1, 0]],
  ["lost a race to another writer", { requeueAfterSeconds: 0, failures: 0 },  [1, 1]],
  ["could not do something",        { requeueAfterSeconds: 5, failures: 1 },  [1, 1]],
];
test.each(rows)("a pass that %s", async (_, outcome, named) => {
  let time = Date.parse("2026-11-20T12:00:00Z");
  const outcomes = [outcome, IDLE];
  const seen: string[][] = [];
  await new Drives().drive("cluster", [VMI], {
    async pass(pointers) {
      seen.push(pointers.map(pointerKey));
      return { done: {}, ...(outcomes[seen.length - 1] ?? IDLE) };
    },
    now: () => new Date(time),
    sleep: async (ms) => void (time += ms),
    seconds: 20,
  });
  expect(seen.map((pointers) => pointers.length)).toEqual(named);
});
