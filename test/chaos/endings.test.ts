/** How evacuations end, as their phases tell. */
import { expect, test } from "vitest";
import { createEndings } from "../../infra/chaos/endings.ts";
import type { Evacuation } from "../../infra/tools/evacuations.ts";
import { evacuation } from "./objects.ts";

// prettier-ignore
const rows: readonly (readonly [string, Evacuation | undefined, string | undefined])[] = [
  ["goes on",                 evacuation("BackingOff"),  undefined],
  ["has moved its VM",        evacuation("Moved"),       "Moved"],
  ["is abandoned",            evacuation("Abandoned"),   "Abandoned"],
  ["is deleted",              undefined,                 undefined],
];
test.each(rows)("one that %s", (_, now, ending) => {
  const endings = createEndings();
  endings.evacuationChanged(now, evacuation());
  expect(endings.all.get("uid-web-1")).toBe(ending);
  expect([...endings.abandoned]).toEqual(ending === "Abandoned" ? ["uid-web"] : []);
});

test("what has ended stays ended when history is removed", () => {
  const endings = createEndings();
  endings.evacuationChanged(evacuation("Moved"), evacuation());
  endings.evacuationChanged(undefined, evacuation("Moved"));
  expect([...endings.all]).toEqual([["uid-web-1", "Moved"]]);
});
