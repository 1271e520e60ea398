/** Who has asked for an evacuation that others have joined: each name once, and a bounded number of them. */
import { describe, expect, test } from "vitest";
import { addRequester, requestersOf } from "../../../shared/evacuation/requesters.ts";
import { EVACUATION_BOUNDS } from "../../../shared/kube/evacuation.ts";
import { evacuation, newborn, vmi } from "../../support/fixtures.ts";
import { decided } from "./evictions.ts";

const others = (count: number) => Array.from({ length: count }, (_, i) => `user-${i}`);
const LONG = "x".repeat(EVACUATION_BOUNDS["status.requesters[]"] + 1);

// prettier-ignore
test.each<[string, requestedBy: string, requesters: readonly string[] | undefined, asks: string, added: string | undefined]>([
  ["a second one",                      "admin",   undefined,  "descheduler", "descheduler"],
  ["a third one",                       "admin",   ["joe"],    "descheduler", "descheduler"],
  ["the first one again",               "admin",   undefined,  "admin",       undefined],
  ["the second one again",              "admin",   ["joe"],    "joe",         undefined],
  ["nobody who is known",               "admin",   [],         "",            undefined],
  ["the first one that is known",       "",        [],         "joe",         "joe"],
  ["the eighth besides the first",      "admin",   others(7),  "joe",         "joe"],
  ["a ninth",                           "admin",   others(8),  "joe",         undefined],
  ["a long name, cut",                  "admin",   [],         LONG,          LONG.slice(1)],
  ["a long name again",                 LONG,      [],         LONG,          undefined],
])("%s", (_, requestedBy, requesters, ...[asks, added]) => {
  const joined = newborn({ spec: { requestedBy }, status: { requesters } });
  expect(addRequester(joined, asks).map(({ requester }) => requester)).toEqual(added === undefined ? [] : [added]);
});

test("all of them, the first one first", () => {
  expect(requestersOf(newborn({ spec: { requestedBy: "admin" }, status: { requesters: ["joe"] } }))).toEqual([
    "admin",
    "joe",
  ]);
  expect(requestersOf(newborn({ spec: { requestedBy: "" } }))).toEqual([]);
});

describe("an eviction by another user", () => {
  const request = { username: "joe", cause: "ApiEviction" } as const;

  // prettier-ignore
  test.each([
    ["of a VM that is marked", vmi({ evacuationNodeName: "node01" }), evacuation()],
    ["whose mark was lost",    vmi(),                                 newborn()],
  ])("%s: the Evacuation keeps the name, once", (_, marked, joined) => {
    const { actions } = decided({ vmi: marked, evacuations: [joined], request, hasBudget: true });
    expect(actions).toEqual([{ verb: "AddRequester", evacuation: joined, requester: "joe" }]);
    const named = { ...joined, status: { ...joined.status, requesters: ["joe"] } };
    expect(decided({ vmi: marked, evacuations: [named], request, hasBudget: true }).actions).toEqual([]);
  });
});
