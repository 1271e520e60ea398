/** A short run of `npm run fuzz`, of the same requests every time: every door keeps its contract, whatever is sent to it. */
import { expect, test } from "vitest";
import { CONTRACT } from "./contract.ts";
import { Tally } from "./tally.ts";
import { makeVisit, REQUESTS_A_VISIT } from "./visit.ts";
import { visitWorker } from "./worker.ts";

const SEED = 20_261_120;
const REQUESTS = 1200;

test("no answer is outside the contract, and every door is opened", async () => {
  const tally = new Tally();
  for (let visit = 0; visit < REQUESTS / REQUESTS_A_VISIT; visit++) tally.add(await makeVisit(SEED, visit));
  expect(tally.renderFindings((request) => `npm run fuzz -- --requests 1 --seed ${SEED} --from ${request}`)).toBe("");
  expect(tally.requests).toBe(REQUESTS);
  for (const door of Object.keys(CONTRACT))
    expect([door, [...tally.codesOf(door).keys()].length > 0]).toEqual([door, true]);
  for (const code of ["200", "400", "401", "404"]) expect(tally.codesOf("evictions").has(code), code).toBe(true);
});

test("nor is one of the bundled Worker in workerd", async () => {
  const tally = new Tally();
  await visitWorker({ requests: 160, seed: SEED, tally });
  expect(tally.renderFindings(() => `seed ${SEED}`)).toBe("");
  expect(tally.requests).toBeGreaterThan(150);
});

test("the same seed is the same visit", async () => {
  expect(await makeVisit(SEED, 7)).toEqual(await makeVisit(SEED, 7));
});
