/** What is said of a drain, and when. */
import { expect, test } from "vitest";
import { createNarrator } from "../../infra/demo/narrator.ts";
import type { Row } from "../../infra/demo/rows.ts";
import { AT_1234_MS, recordingScreen } from "./screens.ts";

const row: Row = { vm: "a/b", strategy: "None", migratable: true, decision: "", now: "running", mood: "idle" };
const refusal = 'error when evicting pods/"p" -n "n" (will retry after 5s): no';

test("in a log each change is a line with its time, and a refusal is said once", () => {
  const { printed, screen } = recordingScreen();
  const narrator = createNarrator(screen, AT_1234_MS);
  narrator.tell([row], []);
  narrator.tell([row], []);
  narrator.heard("evicting pod n/p");
  narrator.heard(refusal);
  narrator.heard(refusal);
  narrator.note("now");
  expect(printed).toEqual(["  1.2 s  · a/b  None, migratable  running", "  1.2 s    n/p: no", "  1.2 s  » now"]);
});

test("on a terminal all is drawn, the drain's last word below", () => {
  const { printed, drawn, screen } = recordingScreen({ live: true });
  const narrator = createNarrator(screen, AT_1234_MS);
  narrator.heard(refusal);
  narrator.heard("evicting pod n/p");
  narrator.tell([row], []);
  expect(printed).toEqual([]);
  expect(drawn.at(1)).toContain("a/b");
  expect(drawn.at(-1)).toBe("1 s  n/p: no");
});
