/** Counting evacuations: which have ended how, what is written, and what waits for that. */
import { describe, expect, test } from "vitest";
import { type Counters, type CountersRegister, countEndings } from "../../shared/policy/counters.ts";
import { type EvacuationWorld, planEvacuations, uncountable } from "../../shared/policy/evacuation.ts";
import type { VmiFacts } from "../../shared/policy/facts.ts";
import { decideCancel } from "../../shared/policy/giving-up.ts";
import { beginRecord, disruptionRecord, endingsOf, MOST_UNCOUNTED, OUTCOMES } from "../../shared/policy/record.ts";
import { attempt, budget, marked, NODE, NOW, only, record, settings, time, verbs, vmi, without } from "./fixtures.ts";
import { grownFor, world } from "./worlds.ts";

const NONE: CountersRegister = { evacuations: [], counted: [] };
const ID = record().id;

/** A VMI whose evacuation is over, as it is found before anybody has tidied up. */
function ended(ofRecord: Parameters<typeof record>[0], tweak: Partial<VmiFacts> = {}): VmiFacts {
  return vmi({ record: record(ofRecord), recordText: "{}", evacuationLabel: "normal", ...tweak });
}

function key(v: VmiFacts, id = ID): string {
  return `${v.uid}/${id}`;
}

function planned(subject: VmiFacts, counters: Counters, tweak: Partial<EvacuationWorld> = {}) {
  const plan = planEvacuations(world({ vmis: [subject], budgets: [budget()], counters, ...tweak }));
  return { verbs: verbs(plan.chains.flat()), again: plan.requeueAfterSeconds };
}

const moved = { nodeName: "node02" };
const earlier = { id: "0000000e", cause: "Operator", outcome: "Abandoned" } as const;
const abandoned = { outcome: "Abandoned", notBefore: time(50) } as const;
const rested = { outcome: "Abandoned", notBefore: time(-1) } as const;

describe("has ended, still to be counted", () => {
  // prettier-ignore
  test.each<[string, VmiFacts, readonly string[]]>([
    ["under way",                                marked(),                                          []],
    ["in back-off",                              marked({}, { attempts: 1, notBefore: time(9) }),   []],
    ["no record",                                without(marked(), "record"),                       []],
    ["on no node",                               without(marked(), "nodeName"),                     []],
    ["moved, mark left over",                    marked(moved),                                     ["ApiEviction Moved"]],
    ["moved, mark cleared",                      ended({}, moved),                                  ["ApiEviction Moved"]],
    ["moved for the drain taint",                ended({ cause: "DrainTaint" }, moved),             ["DrainTaint Moved"]],
    ["moved, label gone by somebody's hand",     without(ended({}, moved), "evacuationLabel"),      ["ApiEviction Moved"]],
    ["moved, and marked for its new node",       marked({ ...moved, evacuationNodeName: "node02" }), ["ApiEviction Moved"]],
    ["moved, and being deleted",                 marked({ ...moved, deleting: true }),              ["ApiEviction Moved"]],
    ["abandoned",                                ended(abandoned),                                  ["ApiEviction Abandoned"]],
    ["abandoned, and moved all the same",        ended(abandoned, moved),                           ["ApiEviction Abandoned"]],
    ["abandoned, and being deleted",             ended(abandoned, { deleting: true }),              ["ApiEviction Abandoned"]],
    ["cancelled",                                ended({ outcome: "Cancelled" }),                   ["ApiEviction Cancelled"]],
    ["withdrawn",                                ended({ cause: "DrainTaint", outcome: "Withdrawn" }), ["DrainTaint Withdrawn"]],
    ["counted: resting without a label",         without(ended(abandoned), "evacuationLabel"),      []],
    ["counted: rested without a label, moved",   without(ended(abandoned, moved), "evacuationLabel"), []],
    ["under way, an earlier one not counted",    marked({}, { uncounted: [earlier] }),              ["Operator Abandoned"]],
    ["moved, an earlier one not counted",        marked(moved, { uncounted: [earlier] }),           ["Operator Abandoned", "ApiEviction Moved"]],
  ])("%s", (_, subject, endings) => {
    expect(endingsOf(subject).map(({ cause, outcome }) => `${cause} ${outcome}`)).toEqual(endings);
  });
});

describe("an evacuation that begins before the last one was counted tells of it", () => {
  const begin = { cause: "Preemption", requestedBy: "kube-scheduler", node: "node02" } as const;
  const found = marked(moved, { uncounted: [earlier] });
  const both = [earlier, { id: ID, cause: "ApiEviction", outcome: "Moved" }];

  test("whoever begins it", () => {
    expect(beginRecord(found, begin, NOW).uncounted).toEqual(both);
    expect(disruptionRecord(found, begin, { since: NOW.getTime(), now: NOW }).uncounted).toEqual(both);
  });

  test("one that is under way goes on telling", () => {
    const underWay = marked({}, { uncounted: [earlier] });
    const disrupted = disruptionRecord(underWay, { ...begin, node: NODE }, { since: NOW.getTime(), now: NOW });
    expect(disrupted).toMatchObject({ id: ID, uncounted: [earlier] });
    const cancelled = decideCancel(
      { vmi: underWay, migrations: [], tainted: false },
      { settings: settings(), now: NOW },
    );
    expect(cancelled).toMatchObject({ actions: [{ record: { outcome: "Cancelled", uncounted: [earlier] } }, {}] });
  });

  test("there is nothing to tell: nothing is told", () => {
    expect(beginRecord(vmi(), begin, NOW)).not.toHaveProperty("uncounted");
  });

  test(`of the last ${MOST_UNCOUNTED}: an annotation has its limits`, () => {
    const many = Array.from({ length: MOST_UNCOUNTED }, (_, i) => ({ ...earlier, id: `0000001${i}` }));
    const { uncounted } = beginRecord(marked(moved, { uncounted: many }), begin, NOW);
    expect(uncounted).toEqual([...many.slice(1), both[1]]);
  });
});

describe("what is written", () => {
  const [one, two, three] = ["one", "two", "three"].map((name) => marked({ ...moved, name, uid: name }));
  if (one === undefined || two === undefined || three === undefined) throw new Error("three VMs");

  test("everything that has ended at once, by cause and outcome; a register that is missing is created", () => {
    const other = ended({ cause: "DrainTaint", outcome: "Withdrawn" }, { uid: "other" });
    expect(countEndings([one, other, two, vmi({ uid: "calm" })], NONE)).toEqual([
      {
        verb: "WriteCounters",
        evacuations: [
          { cause: "ApiEviction", outcome: "Moved", count: 2 },
          { cause: "DrainTaint", outcome: "Withdrawn", count: 1 },
        ],
        counted: [key(one), key(other), key(two)],
      },
    ]);
  });

  test("added to what is there, against the version that was read", () => {
    const there = [
      { cause: "Preemption", outcome: "Moved", count: 7 },
      { cause: "ApiEviction", outcome: "Moved", count: 41 },
    ] as const;
    const [action] = countEndings([one], { resourceVersion: "9", evacuations: there, counted: ["old/0000000b"] });
    expect(action).toMatchObject({ resourceVersion: "9", counted: ["old/0000000b", key(one)] });
    expect(action?.evacuations).toEqual([there[0], { ...there[1], count: 42 }]);
  });

  test("nothing twice: neither what the register names, nor what a VMI tells twice", () => {
    expect(countEndings([one], { ...NONE, counted: [key(one)] })).toEqual([]);
    const twice = marked(moved, { uncounted: [earlier, earlier] });
    expect(countEndings([twice], { ...NONE, counted: [key(twice)] })).toMatchObject([
      { evacuations: [{ cause: "Operator", outcome: "Abandoned", count: 1 }] },
    ]);
  });

  test("two VMIs whose evacuations bear the same id are two", () => {
    expect(countEndings([one, two], { ...NONE, counted: [key(one)] })[0]?.counted).toEqual([key(one), key(two)]);
  });

  test.each(["Off", "Unseen"] as const)("nothing where the register is %s", (counters) => {
    expect(countEndings([one], counters)).toEqual([]);
  });

  test("only so many ids are kept, the newest, and those that some VMI still tells of", () => {
    const before = { ...NONE, counted: ["gone/00000001", key(two), "gone/00000002", "gone/00000003"] };
    expect(countEndings([one, two], before, 2)[0]?.counted).toEqual([key(two), "gone/00000003", key(one)]);
    expect(countEndings([one, two], before, 0)[0]?.counted).toEqual([key(two), key(one)]);
  });

  test("an id is kept while its VMI tells of it, be the evacuation under way again or an earlier one", () => {
    const under = marked({ uid: "under" }, { uncounted: [earlier] });
    const before = { ...NONE, counted: [key(under), key(under, earlier.id)] };
    expect(countEndings([under, three], before, 0)[0]?.counted).toEqual([...before.counted, key(three)]);
  });

  test("a thousand ids, and no more, besides those", () => {
    const many = Array.from({ length: 1500 }, (_, i) => `gone/${i}`);
    const counted = countEndings([one], { ...NONE, counted: many })[0]?.counted;
    expect(counted).toEqual([...many.slice(-999), key(one)]);
  });
});

describe("what waits for it", () => {
  const counted = { ...NONE, counted: [`${vmi().uid}/${ID}`] };

  // prettier-ignore
  test.each<[string, VmiFacts, readonly string[]]>([
    ["moved",      marked(moved),                                             ["Forget", "Event"]],
    ["abandoned",  ended(rested),                                             ["Forget"]],
    ["cancelled",  ended({ outcome: "Cancelled" }),                           ["Forget"]],
    ["withdrawn",  ended({ cause: "DrainTaint", outcome: "Withdrawn" }),      ["Forget"]],
  ])("%s: the label goes when it is seen to be counted", (_, subject, forget) => {
    expect(planned(subject, NONE)).toEqual({ verbs: ["WriteCounters"], again: 0 });
    expect(planned(subject, counted)).toEqual({ verbs: forget, again: 0.5 });
    expect(planned(subject, "Off")).toEqual({ verbs: forget, again: 0.5 });
    expect(planned(subject, "Unseen")).toEqual({ verbs: [], again: 0.5 });
  });

  test("the rows show every outcome", () => {
    expect(OUTCOMES.toSorted()).toEqual(["Abandoned", "Cancelled", "Moved", "Withdrawn"]);
  });

  test("the budget goes back meanwhile: both are waited for at the same time", () => {
    const grown = { budgets: [grownFor(vmi())] };
    expect(planned(marked(moved), NONE, grown).verbs).toEqual(["WriteCounters"]);
    expect(planned(marked(moved), counted, grown).verbs).toEqual([]);
  });

  test("the drain taint is gone: written down first, for it may come back", () => {
    const subject = ended({ cause: "DrainTaint" });
    expect(planned(subject, NONE).verbs).toEqual(["Unmark"]);
  });

  test("a label on a tainted node, where the next evacuation waits: counted where it stands", () => {
    const tainted = { tainted: new Set([NODE]) };
    expect(planned(ended(abandoned), NONE, tainted)).toEqual({ verbs: ["WriteCounters"], again: 0 });
    expect(planned(ended(abandoned), counted, tainted)).toEqual({ verbs: [], again: 50 });
  });

  test("a new evacuation does not wait: it tells of the last one, unless that is counted", () => {
    const subject = ended({ outcome: "Withdrawn" });
    const begun = (counters: Counters) => {
      const w = world({ vmis: [subject], counters, tainted: new Set([NODE]) });
      return only("Record", planEvacuations(w).chains.flat()).map((action) => action.record.uncounted);
    };
    const telling = [{ id: ID, cause: "ApiEviction", outcome: "Withdrawn" }];
    expect([begun(NONE), begun("Unseen")]).toEqual([[telling], [telling]]);
    expect([begun(counted), begun("Off")]).toEqual([[undefined], [undefined]]);
  });

  test("one whose VM came back to be moved again has moved it", () => {
    const back = { vmis: [marked()], migrations: [attempt({ phase: "Succeeded" })], counters: NONE };
    const [begun] = only("Record", planEvacuations(world(back)).chains.flat());
    expect(begun?.record.uncounted).toEqual([{ id: ID, cause: "ApiEviction", outcome: "Moved" }]);
  });

  test("counters that cannot be written: what only waits for them is tidied up, and nothing else is done", () => {
    const over = ended(rested, { name: "over", uid: "over" });
    const grown = marked({ ...moved, name: "grown", uid: "grown" });
    const vmis = [marked(moved), over, grown, marked({ name: "going", uid: "going" })];
    const w = world({ vmis, counters: NONE, budgets: [grownFor(grown)] });
    expect(uncountable(w).map((a) => ("vmi" in a ? `${a.verb} ${a.vmi.uid}` : a.verb))).toEqual([
      `Forget ${vmi().uid}`,
      "Event",
      "Forget over",
    ]);
  });
});
