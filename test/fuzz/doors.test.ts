/** A short run of `npm run fuzz`, of the same requests every time: every door keeps its contract, whatever is sent to it. */
import { expect, test } from "vitest";
import { CONTRACT, type DoorName } from "./contract.ts";
import { Tally } from "./tally.ts";
import { makeVisit, REQUESTS_A_VISIT } from "./visit.ts";
import { visitWorker } from "./worker.ts";

const SEED = 20_261_120;
const REQUESTS = 1200;

/** What each answers to whoever may, if all goes well. One of the entries is a wrong one: the fleet is never ready. */
const OPENED = {
  evictions: "200",
  deletions: "200",
  events: "204",
  reconcile: "200",
  deschedule: "200",
  explain: "200",
  evacuations: "200",
  cancel: "200",
  clusterReadyz: "200",
  metrics: "200",
  healthz: "200",
  readyz: "503",
  noRoute: "404",
} as const satisfies Record<DoorName, string>;
const GUARDED = Object.entries(CONTRACT).flatMap(([door, { key }]) => (key === "None" ? [] : [door]));
const OFTEN = 10;

test("no answer is outside the contract, and every door is opened to some and closed to others", async () => {
  const tally = new Tally();
  for (let visit = 0; visit < REQUESTS / REQUESTS_A_VISIT; visit++) tally.add(await makeVisit(SEED, visit));
  expect(tally.renderFindings((request) => `npm run fuzz -- --requests 1 --seed ${SEED} --from ${request}`)).toBe("");
  expect(tally.requests).toBe(REQUESTS);
  const times = (door: string, code: string) => tally.codesOf(door).get(code) ?? 0;
  for (const [door, code] of Object.entries(OPENED))
    expect(times(door, code), `${door} ${code}`).toBeGreaterThanOrEqual(OFTEN);
  for (const door of GUARDED) expect(times(door, "401"), `${door} 401`).toBeGreaterThanOrEqual(OFTEN);
  for (const code of ["400", "404"]) expect(times("evictions", code), code).toBeGreaterThan(0);
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
