/** How long a VM is left alone that has just moved, and what is said of it. */
import { expect, test } from "vitest";
import { at, NOW, settings, vmi } from "../../support/fixtures.ts";
import { cooldownLeft, cooldownReason } from "../../../shared/evacuation/cooldown.ts";

// prettier-ignore
test.each<[string, age: number | undefined, cooldownSeconds: number, left: number]>([
  ["never moved",                        undefined,  900,  0],
  ["just moved",                         0,          900,  900],
  ["moved a while ago",                  600,        900,  300],
  ["moved a cooldown ago",               900,        900,  0],
  ["the cooldown is off",                0,          0,    0],
  // By a clock that is ahead, and by one that is no clock.
  ["moved in a moment",                  -30,        900,  870],
  ["moves next year",                    -3e7,       900,  0],
])("%s: %s s ago, of %s s: %s", (_, age, cooldownSeconds, left) => {
  const moved = vmi(age === undefined ? {} : { movedAt: at(-age).getTime() });
  const moment = { settings: settings({ evacuation: { cooldownSeconds } }), now: NOW };
  expect(cooldownLeft(moved, moment)).toBe(left);
  expect(cooldownReason(moved, moment)?.includes(`for ${left} s`)).toBe(left > 0 ? true : undefined);
});
