/** The expectations of KubeVirt's controllers about objects they have created. */
import { expect, test } from "vitest";
import { createSteppedClock } from "../../actors/clock.ts";
import { createExpectations, type Expectations } from "../../kubevirt/virt-controller/expectations.ts";

type Step = (created: Expectations) => void;

// prettier-ignore
const rows: readonly (readonly [what: string, steps: readonly Step[], seconds: number, isMet: boolean, areAllMet: boolean])[] = [
  ["nothing created",               [],                                                                             0,   true,  true ],
  ["two created, none seen",        [(c) => c.expect("node-1", 2)],                                                 0,   false, false],
  ["two created, one seen",         [(c) => c.expect("node-1", 2), (c) => c.observe("node-1")],                     0,   false, false],
  ["one created, another's seen",   [(c) => c.expect("node-1", 1), (c) => c.observe("node-1")],                     0,   true,  true ],
  ["created elsewhere",             [(c) => c.expect("node-2", 1)],                                                 0,   true,  false],
  ["seen before it was created",    [(c) => c.observe("node-1"), (c) => c.expect("node-1", 1)],                     0,   false, false],
  ["not seen for five minutes",     [(c) => c.expect("node-1", 1)],                                                 300, false, false],
  ["not seen for longer",           [(c) => c.expect("node-1", 1)],                                                 301, true,  true ],
];
test.each(rows)("%s", (...[, steps, seconds, isMet, areAllMet]) => {
  const clock = createSteppedClock();
  const created = createExpectations(clock);
  for (const step of steps) step(created);
  clock.advance(seconds * 1_000);
  expect([created.isMet("node-1"), created.areAllMet()]).toEqual([isMet, areAllMet]);
});
