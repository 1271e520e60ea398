/** The status of an Evacuation: who changes it where, that an end is final, what it may say. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ACTIVE, answerOf, ENDED, type Stage, startStage, VM } from "./evacuation-stage.ts";

let stage: Stage;
beforeAll(async () => void (stage = await startStage()));
afterAll(() => stage.sandbox.stop());

const PHASES = [...ACTIVE, ...ENDED];
const ENDED_WORDS = "the Evacuation has ended: status.phase does not change any more";

const write = (name: string, status: object | null, query = "") => stage.patch(`${name}/status${query}`, { status });

/** Those that a status in this phase may change to. */
async function phasesAfter(phase: string): Promise<readonly string[]> {
  const name = await stage.created(VM, { phase });
  const codes = new Map<string, number>();
  for (const next of PHASES) codes.set(next, (await write(name, { phase: next }, "?dryRun=All")).code);
  return PHASES.filter((next) => codes.get(next) === 200);
}

test("is written at its own door, which writes nothing else", async () => {
  const name = await stage.created(VM, { phase: "Pending" });
  expect(await stage.patch(name, { status: { phase: "Gone" } })).toMatchObject({
    body: { status: { phase: "Pending" } },
  });
  const answer = await stage.patch(`${name}/status`, { spec: { intent: "Withdrawn" }, status: { attempts: 1 } });
  expect(answer).toMatchObject({ body: { spec: { intent: "Evacuate" }, status: { phase: "Pending", attempts: 1 } } });
});

test.each(ACTIVE)("after %s any phase may come", async (phase) => {
  expect(await phasesAfter(phase)).toEqual(PHASES);
});

test.each(ENDED)("after %s no other phase comes", async (phase) => {
  expect(await phasesAfter(phase)).toEqual([phase]);
});

// prettier-ignore
test.each<[string, object | null, string | undefined]>([
  ["another phase",          { phase: "Pending" },                        ENDED_WORDS],
  ["no phase",               { phase: null },                             ENDED_WORDS],
  ["an unknown phase",       { phase: "Done" },                           `status.phase: Unsupported value: "Done": supported values: "${PHASES.join('", "')}"`],
])("one that has moved is written %s: %j", async (_, status, words) => {
  const [code, message] = answerOf(await write(await stage.created(VM, { phase: "Moved" }), status));
  expect([code, message]).toEqual(words === undefined ? [200, ""] : [422, expect.stringContaining(words)]);
});
