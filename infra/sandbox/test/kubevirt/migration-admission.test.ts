/** virt-api's admission of migrations, beyond what was recorded (answers.test.ts). */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  FOREIGN,
  mergePatch,
  migrate,
  MIGRATIONS,
  startGuests,
  VIRT_API,
  VIRT_CONTROLLER,
  type Guests,
} from "./guests.ts";

let guests: Guests;

beforeAll(async () => {
  guests = await startGuests();
});
afterAll(() => guests.stop());

// prettier-ignore
const setters: readonly (readonly [user: string, priority: string, code: number])[] = [
  [VIRT_CONTROLLER,                                  "system-critical",    201],
  [VIRT_CONTROLLER,                                  "system-maintenance", 201],
  [VIRT_API,                                         "user-triggered",     422],
  [FOREIGN,                                          "system-maintenance", 422],
];
test.each(setters)("%s sets %s: %i", async (user, priority, code) => {
  expect(await guests.ask(user, migrate("ok", { priority, dryRun: true }))).toMatchObject({ code });
});

test("an unfinished migration keeps its labels", async () => {
  const { metadata } = await guests.ask(FOREIGN, migrate("busy"));
  const answer = await guests.ask(
    FOREIGN,
    mergePatch(`${MIGRATIONS}/${metadata.name}`, { metadata: { labels: null } }),
  );
  const message = "selector label can't be removed from an in-flight migration";
  expect(answer).toMatchObject({ code: 422, details: { causes: [{ reason: "FieldValueNotSupported", message }] } });
});
