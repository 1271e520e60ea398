/**
 * Several requests of one function under way at a time, answered in any order.
 * Owns: how many, and whose turn it is. Does not own: what can go wrong with a request (requests.ts).
 */
import { FAILED, type Steps } from "./requests.ts";

/** Which of so many is answered next. */
export type Turn = (among: number) => number;

/** Told by the digits of a number, over and over; by 0 the first of them is always next. */
export function turnsOf(drawn: number): Turn {
  let rest = drawn;
  return (among) => {
    if (rest === 0) rest = drawn;
    const next = rest % among;
    rest = Math.floor(rest / among);
    return next;
  };
}

/** At most so many at a time, each of which has sent a request; the next one begins when one has ended. */
export function* together(all: readonly Steps<void>[], most: number, turn: Turn): Steps<void> {
  const waiting = all.values();
  const active: Steps<void>[] = [];
  const begin = (): void => {
    for (const next of waiting) {
      if (next.next().done === true) continue;
      active.push(next);
      if (active.length === most) return;
    }
  };
  begin();
  while (active.length > 0) {
    const fault = yield;
    const i = turn(active.length);
    if (active[i]?.next(fault).done !== true) continue;
    active.splice(i, 1);
    begin();
  }
}

/** Both at a time: what is read, or nothing if one of them gets no answer. */
export function* both<A, B>(
  turn: Turn,
  a: Steps<A | typeof FAILED>,
  b: Steps<B | typeof FAILED>,
): Steps<readonly [A, B] | typeof FAILED> {
  const left: (A | typeof FAILED)[] = [];
  const right: (B | typeof FAILED)[] = [];
  yield* together([into(left, a), into(right, b)], 2, turn);
  const [[first = FAILED], [second = FAILED]] = [left, right];
  return first === FAILED || second === FAILED ? FAILED : [first, second];
}

function* into<T>(answers: T[], steps: Steps<T>): Steps<void> {
  answers.push(yield* steps);
}
