/**
 * Runs `npm run fuzz` briefly, with the same requests every time. Checks that every endpoint keeps its contract for any
 * request.
 */
import { expect, test } from "vitest";
import { CONTRACT } from "./contract.ts";
import { LONG } from "./property.ts";
import { VISITS } from "./visit.ts";

/** The outcomes for authorized callers. `/readyz` never succeeds, because one cluster has an invalid entry. */
const OPENED = [
  "evictions 200",
  "deletions 200",
  "events 204",
  "reconcile 200",
  "deschedule 200",
  "clusterReadyz 200",
  "metrics 200",
  "healthz 200",
  "readyz 503",
  "clusterPage 200",
  "nodePage 200",
  "vmPage 200",
  "signIn 303",
  "otherPage 200",
  "noRoute 404",
];
const GUARDED = Object.entries(CONTRACT)
  .filter(([, { key }]) => key !== "None" && key !== "Session")
  .map(([endpoint]) => `${endpoint} 401`);

test(`${VISITS.name}, and each endpoint accepts some callers and refuses others`, LONG, async () => {
  const reached = await VISITS.check(320);
  expect([...OPENED, ...GUARDED, "evictions 400"].filter((outcome) => !reached.has(outcome))).toEqual([]);
});
