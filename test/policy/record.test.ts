/** The evacuation record: active, resting, back-off; and the hash and names made from it. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hash8 } from "../../shared/policy/hash.ts";
import { backoffSeconds, beginRecord, endRecord, failRecord } from "../../shared/policy/record.ts";
import {
  type EvacuationRecord,
  isActive,
  MOST_RESTING,
  restingRecord,
  restSeconds,
} from "../../shared/policy/record.ts";
import { derivedName, slotFor } from "../../shared/policy/slots.ts";
import { NODE, NOW, POD_UID, record, settings, time, vmi, without } from "./fixtures.ts";

const S = settings();

describe("beginning", () => {
  const begin = { cause: "ApiEviction", requestedBy: "admin", node: NODE, podUID: POD_UID } as const;

  test("the id depends on VMI, node, pod and time, and on nothing else", () => {
    const { id } = beginRecord(vmi(), begin, NOW);
    expect(beginRecord(vmi({ resourceVersion: "9" }), { ...begin, requestedBy: "other" }, NOW).id).toBe(id);
    const others = [
      beginRecord(vmi({ uid: "other" }), begin, NOW),
      beginRecord(vmi(), { ...begin, node: "node02" }, NOW),
      beginRecord(vmi(), { ...begin, podUID: "other" }, NOW),
      beginRecord(vmi(), begin, new Date(NOW.getTime() + 1)),
    ];
    expect(new Set([id, ...others.map((r) => r.id)]).size).toBe(5);
  });

  test("what is not known is absent, not undefined", () => {
    expect(Object.keys(beginRecord(vmi(), without(begin, "podUID"), NOW))).toEqual([
      "id",
      "cause",
      "requestedBy",
      "node",
      "since",
      "attempts",
    ]);
  });
});

const rest = (seconds: number, id = record().id) => ({ id, attempts: 0, notBefore: time(seconds) });

describe("what rests while another one begins is remembered", () => {
  const begin = { cause: "Preemption", requestedBy: "system:kube-scheduler", node: NODE } as const;
  const cancelled = { outcome: "Cancelled", notBefore: time(20) } as const;
  // prettier-ignore
  test.each([
    ["none before",                 undefined,                                                             undefined],
    ["cancelled just now",          record(cancelled),                                                     [rest(20)]],
    ["withdrawn just now",          record({ ...cancelled, outcome: "Withdrawn" }),                        [rest(20)]],
    ["one that rested before that", record({ ...cancelled, resting: [rest(9, "0000000c")] }),              [rest(9, "0000000c"), rest(20)]],
    ["one that has rested",         record({ ...cancelled, notBefore: time(0), resting: [rest(-1)] }),     undefined],
    ["from another node",           record({ ...cancelled, node: "node02" }),                              undefined],
    ["a back-off that ends nothing", record({ notBefore: time(20) }),                                      undefined],
    ["many",                        record({ ...cancelled, resting: Array.from({ length: MOST_RESTING }, () => rest(5)) }), [...Array.from({ length: MOST_RESTING - 1 }, () => rest(5)), rest(20)]],
  ])("%s", (_, before, resting) => {
    const begun = beginRecord(vmi(before === undefined ? {} : { record: before }), begin, NOW);
    expect(begun.resting).toEqual(resting);
  });
});

test.each([
  ["under way from here", record(), true],
  ["from another node", record({ node: "node02" }), false],
  ["abandoned", record({ outcome: "Abandoned" }), false],
  ["cancelled", record({ outcome: "Cancelled" }), false],
  ["none", undefined, false],
] as const)("active: %s", (_, r, active) => expect(isActive(r, NODE)).toBe(active));

describe("back-off", () => {
  test.each([
    [0, 20],
    [1, 20],
    [2, 40],
    [3, 80],
    [4, 160],
    [5, 320],
    [6, 320],
    [1e9, 320],
  ])("after %d failures %d s", (attempts, seconds) => expect(backoffSeconds(attempts, S)).toBe(seconds));

  test("takes fractions", () => {
    const quick = settings({ evacuation: { backoffSeconds: 0.01, maxBackoffSeconds: 0.025 } });
    expect([1, 2, 3].map((n) => backoffSeconds(n, quick))).toEqual([0.01, 0.02, 0.025]);
  });

  test("none is none, however many failures a tampered record claims", () => {
    const none = settings({ evacuation: { backoffSeconds: 0, maxBackoffSeconds: 320 } });
    const tampered = record({ attempts: Number.MAX_SAFE_INTEGER });
    expect(endRecord(tampered, "Abandoned", none, NOW)).toEqual({
      ...tampered,
      outcome: "Abandoned",
      notBefore: time(0),
    });
    expect(endRecord(tampered, "Abandoned", S, NOW)).toMatchObject({ notBefore: time(320) });
  });

  test("a failure counts, and sets the time of the next attempt", () => {
    expect(failRecord(record({ attempts: 1 }), S, NOW)).toEqual(record({ attempts: 2, notBefore: time(40) }));
  });

  test("an end keeps the record for its back-off", () => {
    const ended = endRecord(record({ attempts: 5 }), "Abandoned", S, NOW);
    expect(ended).toEqual(record({ attempts: 5, outcome: "Abandoned", notBefore: time(320) }));
  });
});

describe("rest", () => {
  // prettier-ignore
  test.each([
    ["no record",                             undefined,                              0],
    ["no time",                               record(),                               0],
    ["half a minute away",                    record({ notBefore: time(30) }),        30],
    ["just now",                              record({ notBefore: time(0) }),         0],
    ["past",                                  record({ notBefore: time(-1) }),        0],
    ["the longest back-off",                  record({ notBefore: time(320) }),       320],
    ["… by a clock that is a little ahead",   record({ notBefore: time(321) }),       321],
    ["tampered: tomorrow",                    record({ notBefore: time(86_400) }),    0],
    ["tampered: never",                       record({ notBefore: "9999-12-31T23:59:59Z" }), 0],
    ["tampered: not a time",                  record({ notBefore: "soon" }),          0],
  ])("%s", (_, r, seconds) => expect(restSeconds(r, S, NOW)).toBe(seconds));

  test("only an ended evacuation from this node keeps a new one waiting", () => {
    const resting = record({ outcome: "Cancelled", notBefore: time(10) });
    expect(restingRecord(vmi({ record: resting }), S, NOW)).toEqual(resting);
    expect(restingRecord(vmi({ record: { ...resting, node: "node02" } }), S, NOW)).toBeUndefined();
    expect(restingRecord(vmi({ record: record({ notBefore: time(10) }) }), S, NOW)).toBeUndefined();
    expect(restingRecord(vmi({ record: { ...resting, notBefore: time(0) } }), S, NOW)).toBeUndefined();
    expect(restingRecord(vmi(), S, NOW)).toBeUndefined();
  });
});

describe("hash", () => {
  test.each([
    ["", "811c9dc5"],
    ["a", "e40c292c"],
    ["foobar", "bf9cf968"],
  ])("FNV-1a of %j is %s", (text, hash) => expect(hash8(text)).toBe(hash));

  test("is eight hexadecimal digits, always the same", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(hash8(text)).toMatch(/^[0-9a-f]{8}$/);
        expect(hash8(text)).toBe(hash8(text));
      }),
      { seed: 20_260_301 },
    );
  });
});

function nameOf(tweak: Partial<EvacuationRecord>, uid = "uid"): string {
  return slotFor({ vmi: vmi({ uid }), record: record(tweak) }).name;
}

describe("names", () => {
  const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
  const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);
  const vmiName = fc.array(label, { minLength: 1, maxLength: 8 }).map((labels) => labels.join("."));

  test("are valid object names of 63 characters at most, whatever the VM is called", () => {
    fc.assert(
      fc.property(vmiName, fc.nat(), (name, attempts) => {
        const slot = slotFor({ vmi: vmi({ name }), record: record({ attempts }) });
        for (const derived of [slot.name, derivedName(name, hash8(name))]) {
          expect(derived).toMatch(OBJECT_NAME);
          expect(derived.length).toBeLessThanOrEqual(63);
        }
      }),
      { seed: 20_260_301 },
    );
  });

  test("a long one is cut, and not behind a dot or dash", () => {
    const long = `${"a".repeat(43)}.-b-${"c".repeat(100)}`;
    expect(derivedName(long, "0000000a")).toBe(`lifeboat-${"a".repeat(43)}-0000000a`);
  });

  test("a migration's says whose it is, of which evacuation, and which attempt", () => {
    expect(nameOf({})).toMatch(/^lifeboat-web-[0-9a-f]{8}-1$/);
    expect(nameOf({ attempts: 1 })).toMatch(/-2$/);
    const names = [nameOf({}), nameOf({ id: "0000000b" }), nameOf({}, "made-anew"), nameOf({ attempts: 1 })];
    expect(new Set(names).size).toBe(4);
    expect(nameOf({ since: time(9), cause: "Operator" })).toBe(nameOf({}));
  });
});
