/**
 * Tests deletions with a grace period. The grace period starts at the first request, and a later request can shorten
 * it.
 */
import { afterEach, describe, expect, test } from "vitest";
import { valueAt } from "../contract/value-at.ts";
import { type Started, start } from "./started.ts";

const PODS = "/api/v1/namespaces/default/pods";
const BEGIN = Date.parse("2030-01-01T00:00:00Z");

let started: Started | undefined;
afterEach(() => started?.stop());

async function startedPod() {
  let now = BEGIN;
  started = await start({ now: () => new Date(now) });
  const { admin } = started;
  const spec = { nodeName: "n", containers: [{ name: "c", image: "x" }] };
  await admin.send({ method: "POST", path: PODS, body: { metadata: { name: "p" }, spec } });
  const deleteWith = async (seconds: number, body: object) => {
    now = BEGIN + seconds * 1000;
    const answer = await admin.send({ method: "DELETE", path: `${PODS}/p`, body });
    const end = Date.parse(String(valueAt(answer.body, "metadata.deletionTimestamp")));
    return [(end - BEGIN) / 1000, valueAt(answer.body, "metadata.deletionGracePeriodSeconds")];
  };
  return { admin, deleteWith };
}

describe("a second deletion of a pod", () => {
  // prettier-ignore
  const rows = [
    // after, asks for        ends, grace
    [5,      {},              30,   30,  "no grace period: the first grace period stays"],
    [5,      30,              30,   30,  "the same"],
    [5,      20,              20,   20,  "shorter: starts at the first deletion"],
    [25,     20,              25,    1,  "shorter and already over: the kubelet gets 1 s"],
    [40,     20,              40,    1,  "shorter, after both grace periods are over"],
    [5,      -1,               5,    1,  "negative: the kubelet gets 1 s"],
    [25,      0,              25,    0,  "zero"],
  ] as const;
  test.each(rows)(
    "after %s s, with gracePeriodSeconds %o: the pod ends %s s after the first deletion, deletionGracePeriodSeconds %s (%s)",
    async (after, asked, end, grace) => {
      const { deleteWith } = await startedPod();
      expect(await deleteWith(0, {})).toEqual([30, 30]);
      expect(await deleteWith(after, typeof asked === "number" ? { gracePeriodSeconds: asked } : {})).toEqual([
        end,
        grace,
      ]);
    },
  );
});

test("a pod without a grace period is visible as terminating before it is gone", async () => {
  const { admin, deleteWith } = await startedPod();
  await deleteWith(0, { gracePeriodSeconds: 0 });
  const { text } = await admin.send({ method: "GET", path: `${PODS}?watch=1&timeoutSeconds=1&resourceVersion=1` });
  const events = text
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  const seen = events.map((event) => [
    valueAt(event, "type"),
    valueAt(event, "object.metadata.deletionGracePeriodSeconds"),
  ]);
  expect(seen).toEqual([
    ["ADDED", undefined],
    ["MODIFIED", 0],
    ["DELETED", 0],
  ]);
});
