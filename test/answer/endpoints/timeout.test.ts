/** The API server's patience, as it says it in `?timeout=`: a Go duration. */
import { expect, test } from "vitest";
import { timeoutSeconds } from "../../../functions/review.ts";
import { openCanned, startCannedCluster } from "../../support/canned-cluster.ts";
import { entry, openDoors } from "../../support/doors.ts";
import { refusal, review } from "../../support/reviews.ts";
import { sealed } from "../../support/sealed.ts";

// prettier-ignore
test.each([
  ["10s",            10],
  ["500ms",          0.5],
  ["1.5s",           1.5],
  ["1m0s",           30],
  ["2s500ms",        2.5],
  ["99999999h",      30],
  ["1e9s",           10],
  [undefined,        10],
  ["",               10],
  ["0s",             10],
  ["-5s",            10],
  ["5",              10],
  ["5s!",            10],
  ["x5s",            10],
  ["5µs",            10],
])("%s: %d s; ours is never longer than Kubernetes allows, nor unlimited", (query, seconds) => {
  expect(timeoutSeconds(query)).toBe(seconds);
});

test.each([
  ["at once", 0, 5000, 9000],
  ["2 s later", 2, 4000, 7000],
  ["8 s later", 8, 1000, 1000],
])("the cluster was found %s: what is left is for reading, then for all", async (_, seconds, reading, all) => {
  const server = startCannedCluster();
  const given: number[] = [];
  const timeout = (ms: number) => {
    given.push(ms);
    return new AbortController().signal;
  };
  const get = async () => {
    doors.pass(seconds);
    return await sealed("prod", JSON.stringify(entry(server.url)));
  };
  const env = { CLUSTER_REGISTRY: { get, list: () => Promise.reject(new Error("KV")) } };
  const doors = openDoors(env, undefined, { timeout });
  expect(await review(doors, undefined, { timeout: "10s" })).toMatchObject({ code: 200 });
  expect(given.slice(0, 2)).toEqual([reading, all]);
  await doors.settle();
});

test.each(["", "abc", "0s", "10s&timeout=1s", "9".repeat(400) + "h"])(
  "?timeout=%s: answered all the same",
  async (timeout) => {
    const [, doors] = openCanned();
    const message = 'Eviction triggered evacuation of VMI "apps/web"';
    expect(await review(doors, undefined, { timeout })).toMatchObject({ code: 200, body: refusal(message) });
    await doors.settle();
  },
);
