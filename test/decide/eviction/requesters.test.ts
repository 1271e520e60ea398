/** Tests the list of an evacuation's requesters. The list contains each name once, and a limited number of names. */
import { describe, expect, test } from "vitest";
import { addRequester, requesterPatch, requestersOf } from "../../../shared/evacuation/requesters.ts";
import { EVACUATION_BOUNDS } from "../../../shared/kube/evacuation.ts";
import { evacuation, newborn, vmi } from "../../support/fixtures.ts";
import { decided } from "./evictions.ts";

const others = (count: number) => Array.from({ length: count }, (_, i) => `user-${i}`);
const LONG = "x".repeat(EVACUATION_BOUNDS["status.requesters[]"] + 1);

// prettier-ignore
test.each<[string, requestedBy: string, requesters: readonly string[] | undefined, asks: string, added: string | undefined]>([
  ["a second requester is added",                  "admin",   undefined,  "descheduler", "descheduler"],
  ["a third requester is added",                   "admin",   ["joe"],    "descheduler", "descheduler"],
  ["the first requester is not added again",       "admin",   undefined,  "admin",       undefined],
  ["the second requester is not added again",      "admin",   ["joe"],    "joe",         undefined],
  ["an unknown requester is not added",            "admin",   [],         "",            undefined],
  ["the first known requester is added",           "",        [],         "joe",         "joe"],
  ["the eighth further requester is added",        "admin",   others(7),  "joe",         "joe"],
  ["a ninth further requester is not added",       "admin",   others(8),  "joe",         undefined],
  ["a long name is added in a shortened form",                    "admin",   [],         LONG,          LONG.slice(1)],
  ["a long name is not added again",               LONG,      [],         LONG,          undefined],
])("%s", (_, requestedBy, requesters, ...[asks, added]) => {
  const joined = newborn({ spec: { requestedBy }, status: { requesters } });
  expect(addRequester(joined, asks).map(({ requester }) => requester)).toEqual(added === undefined ? [] : [added]);
});

test("the requesters are listed with the first one first", () => {
  expect(requestersOf(newborn({ spec: { requestedBy: "admin" }, status: { requesters: ["joe"] } }))).toEqual([
    "admin",
    "joe",
  ]);
  expect(requestersOf(newborn({ spec: { requestedBy: "" } }))).toEqual([]);
});

test.each([
  [undefined, ["joe"]],
  [["jane"], ["jane", "joe"]],
])("a requester is added after %j, unless the Evacuation has changed since", (before, requesters) => {
  const joined = newborn({ resourceVersion: "7", status: { requesters: before } });
  const patch = requesterPatch({ verb: "AddRequester", evacuation: joined, requester: "joe" });
  expect(patch).toEqual({ metadata: { resourceVersion: "7" }, status: { requesters } });
});

describe("an eviction by another user", () => {
  const request = { username: "joe", cause: "ApiEviction" } as const;

  // prettier-ignore
  test.each([
    ["of a marked VM",              vmi({ evacuationNodeName: "node01" }), evacuation()],
    ["of a VM whose mark was lost", vmi(),                                 newborn()],
  ])("%s adds the user's name to the Evacuation once", (_, marked, joined) => {
    const { actions } = decided({ vmi: marked, evacuations: [joined], request, hasBudget: true });
    expect(actions).toEqual([{ verb: "AddRequester", evacuation: joined, requester: "joe" }]);
    const named = { ...joined, status: { ...joined.status, requesters: ["joe"] } };
    expect(decided({ vmi: marked, evacuations: [named], request, hasBudget: true }).actions).toEqual([]);
  });
});
