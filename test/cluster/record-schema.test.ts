/** What we keep in a cluster, to text and back: whoever may edit the objects may have edited it. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countersOf, countersText, recordOf, recordText } from "../../shared/cluster/record-schema.ts";
import { slotsOf, slotsText } from "../../shared/cluster/record-schema.ts";
import { MOST_RESTING, MOST_UNCOUNTED } from "../../shared/policy/record.ts";
import { slotFor } from "../../shared/policy/slots.ts";
import { record, vmi } from "../policy/fixtures.ts";

const RECORD = record();
const SLOT = slotFor({ vmi: vmi(), record: RECORD });
const ENDING = { id: "0000000b", cause: "Preemption", outcome: "Moved" } as const;
const ENDINGS = Array.from({ length: MOST_UNCOUNTED }, () => ENDING);
const REST = { id: "0000000b", attempts: 1, notBefore: "2026-01-01T00:00:20.000Z" } as const;
const RESTING = Array.from({ length: MOST_RESTING }, () => REST);

describe("the evacuation record", () => {
  // prettier-ignore
  test.each([
    [{}],
    [{ cause: "Descheduler" as const }],
    [{ attempts: 4, notBefore: "2026-01-01T00:00:00.000Z" }],
    [{ outcome: "Abandoned" as const }],
    [{ outcome: "Withdrawn" as const }],
    [{ uncounted: ENDINGS }],
    [{ resting: RESTING }],
    [{ requestedBy: 'system:"serviceaccount"\n<é>' }],
  ])("%j comes back as it was", (tweak) => {
    expect(recordOf(recordText(record(tweak)))).toEqual(record(tweak));
  });

  test("leaves out what nobody knows", () => {
    expect(recordOf(JSON.stringify({ ...RECORD, surprise: "x" }))).toEqual(RECORD);
  });

  // prettier-ignore
  test.each([
    ["absent",                    undefined],
    ["empty",                     ""],
    ["no JSON",                   "{id: 1}"],
    ["null",                      "null"],
    ["a list",                    "[]"],
    ["a text",                    '"record"'],
    ["deeply nested",             "[".repeat(100_000)],
    ["without id",                JSON.stringify({ ...RECORD, id: undefined })],
    ["an id of another form",     JSON.stringify({ ...RECORD, id: "../../x" })],
    ["an id in capitals",         JSON.stringify({ ...RECORD, id: "0000000A" })],
    ["an unknown cause",          JSON.stringify({ ...RECORD, cause: "Boredom" })],
    ["an unknown outcome",        JSON.stringify({ ...RECORD, outcome: "Succeeded" })],
    ["since no time",             JSON.stringify({ ...RECORD, since: "yesterday" })],
    ["notBefore no time",         JSON.stringify({ ...RECORD, notBefore: "" })],
    ["notBefore null",            JSON.stringify({ ...RECORD, notBefore: null })],
    ["negative attempts",         JSON.stringify({ ...RECORD, attempts: -1 })],
    ["half an attempt",           JSON.stringify({ ...RECORD, attempts: 0.5 })],
    ["attempts beyond counting",  `{"id":"0000000a","cause":"ApiEviction","requestedBy":"a","node":"n","since":"2026","attempts":1e400}`],
    ["an ending by no outcome",   JSON.stringify({ ...RECORD, uncounted: [{ ...ENDING, outcome: "Lost" }] })],
    ["an ending of another id",   JSON.stringify({ ...RECORD, uncounted: [{ ...ENDING, id: "x".repeat(1e6) }] })],
    ["more endings than we tell", JSON.stringify({ ...RECORD, uncounted: [...ENDINGS, ENDING] })],
    ["a rest without end",        JSON.stringify({ ...RECORD, resting: [{ id: "0000000b", attempts: 0 }] })],
    ["a rest of another id",      JSON.stringify({ ...RECORD, resting: [{ ...REST, id: "x" }] })],
    ["more rests than we tell",   JSON.stringify({ ...RECORD, resting: [...RESTING, REST] })],
    ["a node that is no text",    JSON.stringify({ ...RECORD, node: ["node01"] })],
  ])("%s counts as none", (_, text) => {
    expect(recordOf(text)).toBeUndefined();
  });

  test("whatever it is, reading it does not fail", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        recordOf(text);
        slotsOf(text);
        countersOf(text);
      }),
      { seed: 20_260_301 },
    );
  });
});

describe("the slots register", () => {
  test("is one line an entry, and comes back as it was", () => {
    const text = slotsText([SLOT, { ...SLOT, name: "other" }]);
    expect(text.split("\n")).toHaveLength(4);
    expect(slotsOf(text)).toEqual([SLOT, { ...SLOT, name: "other" }]);
    expect(slotsOf(slotsText([]))).toEqual([]);
  });

  // prettier-ignore
  test.each([
    ["absent",               undefined],
    ["empty",                ""],
    ["no JSON",              "[{]"],
    ["no list",              "{}"],
    ["null",                 "null"],
    ["a list of something",  "[1]"],
    ["an unknown cause",     JSON.stringify([{ ...SLOT, cause: "Boredom" }])],
    ["an entry without VMI", JSON.stringify([{ ...SLOT, vmi: undefined }])],
  ])("%s is empty", (_, text) => {
    expect(slotsOf(text)).toEqual([]);
  });
});

describe("the counters", () => {
  const evacuations = [
    { cause: "ApiEviction", outcome: "Moved", count: 12 },
    { cause: "DrainTaint", outcome: "Withdrawn", count: 1 },
  ] as const;
  const COUNTERS = { evacuations, counted: ["vmi-uid/0000000a", "vmi-uid/0000000b"] };

  test("are one line an entry, and come back as they were", () => {
    const text = countersText(COUNTERS);
    expect(text.split("\n")).toEqual([
      "{",
      '"evacuations": [',
      '  {"cause":"ApiEviction","outcome":"Moved","count":12},',
      '  {"cause":"DrainTaint","outcome":"Withdrawn","count":1}',
      "],",
      '"counted": [',
      '  "vmi-uid/0000000a",',
      '  "vmi-uid/0000000b"',
      "]",
      "}",
    ]);
    expect(countersOf(text)).toEqual(COUNTERS);
  });

  test("begin at nothing", () => {
    expect(countersOf(undefined)).toEqual({ evacuations: [], counted: [] });
    expect(countersOf(countersText({ evacuations: [], counted: [] }))).toEqual({ evacuations: [], counted: [] });
  });

  // prettier-ignore
  test.each([
    ["empty",              ""],
    ["no JSON",            "{evacuations: []}"],
    ["a list",             "[]"],
    ["without ids",        JSON.stringify({ evacuations })],
    ["an unknown cause",   JSON.stringify({ ...COUNTERS, evacuations: [{ ...evacuations[0], cause: "Boredom" }] })],
    ["an unknown outcome", JSON.stringify({ ...COUNTERS, evacuations: [{ ...evacuations[0], outcome: "Lost" }] })],
    ["less than nothing",  JSON.stringify({ ...COUNTERS, evacuations: [{ ...evacuations[0], count: -1 }] })],
    ["half of one",        JSON.stringify({ ...COUNTERS, evacuations: [{ ...evacuations[0], count: 0.5 }] })],
  ])("%s is not begun anew, and not written over", (_, text) => {
    expect(countersOf(text)).toBeUndefined();
  });
});
