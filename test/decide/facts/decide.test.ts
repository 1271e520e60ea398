/**
 * Tests the function that evaluates a rule. A rule requests facts, and the function reads them. A rule never treats an
 * unread fact as an absent object.
 */
import { expect, test } from "vitest";
import { decide, decideSafely, type Reads } from "../../../shared/facts/decide.ts";
import { each, type Facts, takeInOrder, textOf, together, unlessFailed } from "../../../shared/facts/facts.ts";
import { named } from "../../../shared/kube/objects.ts";
import { ClusterError } from "../../../shared/kube/failures.ts";
import { node } from "../../support/fixtures.ts";
import { factsOf, OddList, readsOf } from "../../support/facts.ts";

const NODES = { "nodes a": node({ name: "a" }), "nodes b": node({ name: "b" }), "nodes c": undefined, "nodes d": undefined, "nodes e": undefined, "nodes f": undefined, "nodes g": undefined }; // prettier-ignore
const isThere = (facts: Facts, name: string) => facts.get("nodes", named(name)) !== undefined;

function inRounds(map: Readonly<Record<string, unknown>>) {
  const rounds: string[][] = [];
  let round: string[] | undefined;
  const reads: Reads = async (question) => {
    if (round === undefined) rounds.push((round = []));
    const answer = await readsOf(map, round)(question);
    round = undefined;
    return answer;
  };
  return { reads, rounds };
}

// prettier-ignore
test.each<[string, (facts: Facts) => unknown, unknown, readonly string[][]]>([
  ["one fact after another", (f) => [isThere(f, "a"), isThere(f, "c")],                                   [true, false], [["nodes a"], ["nodes c"]]],
  ["facts together",          (f) => together(() => isThere(f, "a"), () => isThere(f, "c")),                [true, false], [["nodes a", "nodes c"]]],
  ["a fact for each item",     (f) => each(["a", "b", "c"], (name) => isThere(f, name)),                     [true, true, false], [["nodes a", "nodes b", "nodes c"]]],
  ["the same fact twice",    (f) => together(() => isThere(f, "a"), () => isThere(f, "a")),                [true, true], [["nodes a"]]],
  ["no facts",           () => "a word",                                                               "a word", []],
  ["facts in order, while a place is free", (f) => takeInOrder(["a", "b", "c"], 1, (name) => isThere(f, name) || undefined), [true], [["nodes a"]]],
  ["facts in order, past an item that takes no place", (f) => takeInOrder(["c", "a", "b"], 1, (name) => isThere(f, name) || undefined), [true], [["nodes c"], ["nodes a"]]],
  ["facts in order, for two places", (f) => takeInOrder(["c", "a", "b"], 2, (name) => isThere(f, name) || undefined), [true, true], [["nodes c", "nodes a"], ["nodes b"]]],
  ["facts in order, past many items", (f) => takeInOrder(["c", "d", "e", "f", "g", "a", "b"], 1, (name) => isThere(f, name) || undefined), [true], [["nodes c"], ["nodes d"], ["nodes e", "nodes f"], ["nodes g", "nodes a", "nodes b"]]],
])("a rule that requests %s gets these facts in the fewest rounds", async (_, rule, answer, questions) => {
  const { reads, rounds } = inRounds(NODES);
  const decided = await decide(rule, reads);
  expect([decided.answer, rounds]).toEqual([answer, questions]);
  expect([decided.reads, decided.rounds]).toEqual([rounds.flat().length, rounds.length]);
});

test("facts that the caller knows are not read, and facts that the caller names are read in the first round", async () => {
  const { reads, rounds } = inRounds(NODES);
  const known = [[{ kind: "nodes", key: named("a") }, { value: undefined }]] as const;
  const first = [{ kind: "nodes", key: named("b") }] as const;
  const decided = await decide((f) => ["a", "c", "b"].map((name) => isThere(f, name)), reads, { known, first });
  expect(decided.answer).toEqual([false, false, true]);
  expect(rounds).toEqual([["nodes b"], ["nodes c"]]);
});

test("a fact keeps its first value, however often the rule runs", async () => {
  let version = 0;
  const reads: Reads = async () => await Promise.resolve({ value: { version: (version += 1) } });
  const decided = await decide((f) => ["a", "b", "a"].map((name) => f.get("nodes", named(name))), reads);
  expect(decided.answer).toEqual([{ version: 1 }, { version: 2 }, { version: 1 }]);
});

const FORBIDDEN = new ClusterError({ reason: "Refused", code: 403, request: "GET nodes" });

test("a failed read throws where the rule requests the fact, and nowhere else", async () => {
  const map = { ...NODES, "nodes x": FORBIDDEN };
  const first = [{ kind: "nodes", key: named("x") }] as const;
  expect((await decide((f) => isThere(f, "a"), readsOf(map), { first })).answer).toBe(true);
  await expect(decide((f) => isThere(f, "x"), readsOf(map))).rejects.toBe(FORBIDDEN);
});

// prettier-ignore
test("a rule can handle a failed read", async () => {
  const decided = await decide((f) => unlessFailed(() => isThere(f, "x"), (failed) => failed), readsOf({ "nodes x": FORBIDDEN }));
  expect(decided.answer).toBe(FORBIDDEN);
});

// prettier-ignore
test("a defect of a rule or source is not a failed read", async () => {
  const defect = new TypeError("broken");
  await expect(decide((f) => isThere(f, "a"), () => Promise.reject(defect))).rejects.toBe(defect);
  await expect(decide(() => unlessFailed(() => { throw defect; }, () => "failed"), readsOf({}))).rejects.toBe(defect);
});

test("a fact that is missing after the last round is a failed read, not absent", async () => {
  const asked: string[] = [];
  const reads: Reads = async (question) => {
    asked.push(textOf(question));
    return await Promise.resolve({ value: undefined });
  };
  const names = Array.from({ length: 1000 }, (_, i) => `node-${i}`);
  const deciding = decide((f) => names.map((name) => isThere(f, name)), reads);
  await expect(deciding).rejects.toThrow("nodes node-64 was still missing");
  await expect(deciding).rejects.toBeInstanceOf(ClusterError);
  expect(asked).toHaveLength(64);
});

test("an incomplete list is a failed read, unless the rule accepts an incomplete list", () => {
  const facts = factsOf({ nodes: new OddList([node()], "node07: too large"), pods: [] });
  expect(facts.readable("nodes")).toEqual({ items: [node()], odd: ["node07: too large"] });
  expect(() => facts.list("nodes")).toThrow("node07: too large");
  expect([facts.readable("pods"), facts.list("pods")]).toEqual([{ items: [], odd: [] }, []]);
});

test("different views of a resource are different facts", async () => {
  const view = { resource: "nodes", name: "Name", schema: () => expect.fail("nothing is parsed here") } as const;
  const map = { "nodes a": "by the table", "nodes as Name a": "by name" };
  const decided = await decide((f) => [f.get("nodes", named("a")), f.get(view, named("a"))], readsOf(map));
  expect(decided.answer).toEqual(["by the table", "by name"]);
});

const ofNodes = (f: Facts) => each(["a", "b"], (name) => f.get("nodes", named(name)));

const source =
  (name: string, isCached: boolean, asked: string[]): Reads =>
  async ({ key }) => {
    asked.push(`${name} ${key?.name}`);
    return await Promise.resolve({ value: name, isCached });
  };

// prettier-ignore
test.each<[string, { isCached: boolean; isSafe: boolean }, readonly string[], readonly string[]]>([
  // The answer is                       decided on                   and read
  ["a safe answer on watched facts",     { isCached: true, isSafe: true },   ["watched", "watched"], ["watched a", "watched b"]],
  ["an unsafe answer on watched facts",  { isCached: true, isSafe: false },  ["live", "live"],       ["watched a", "watched b", "live a", "live b"]],
  ["an answer that no watch shows",      { isCached: false, isSafe: false }, ["watched", "watched"], ["watched a", "watched b"]],
])("%s never mixes watched and live facts", async (_, { isCached, isSafe }, answer, expected) => {
  const asked: string[] = [];
  const watched = { reads: source("watched", isCached, asked), isSafe: () => isSafe };
  const decided = await decideSafely(ofNodes, [watched], source("live", false, asked));
  expect([decided.answer, asked]).toEqual([answer, expected]);
});

test.each([
  ["if that source gives a safe answer", ["old", "newer"], "newer"],
  ["and finally on live facts", [], "live"],
])("an unsafe answer is decided again on the next source %s", async (_, safe, expected) => {
  const asked: string[] = [];
  const isSafe = (answer: readonly unknown[]) => answer.every((one) => safe.some((name) => name === one));
  const old = { reads: source("old", true, asked), isSafe: () => false };
  const newer = { reads: source("newer", true, asked), isSafe };
  const decided = await decideSafely<readonly unknown[]>(ofNodes, [old, newer], source("live", false, asked));
  expect(decided.answer).toEqual([expected, expected]);
  expect(asked).toEqual(["old", expected].flatMap((name) => [`${name} a`, `${name} b`]));
});
