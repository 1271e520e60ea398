/** Small pure parts: ages in words, printer columns' paths, field sets. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decodeFields,
  differenceOf,
  encodeFields,
  fieldsOf,
  hasBelow,
  mergeFields,
  removeFields,
  showField,
} from "../../apiserver/fields.ts";
import { humanDuration } from "../../apiserver/kinds/columns.ts";
import { evaluateJsonPath } from "../../apiserver/kinds/json-path.ts";
import { applyStrategicPatch } from "../../apiserver/patch/strategic.ts";

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];

// prettier-ignore
test.each([
  [0, "0s"],             [119, "119s"],            [2 * MINUTE, "2m"],       [125, "2m5s"],
  [10 * MINUTE, "10m"],  [3 * HOUR - 1, "179m"],   [3 * HOUR, "3h"],         [3 * HOUR + 5 * MINUTE, "3h5m"],
  [9 * HOUR, "9h"],      [47 * HOUR, "47h"],       [2 * DAY, "2d"],          [2 * DAY + 3 * HOUR, "2d3h"],
  [8 * DAY, "8d"],       [729 * DAY, "729d"],      [2 * 365 * DAY, "2y"],    [2 * 365 * DAY + DAY, "2y1d"],
  [9 * 365 * DAY, "9y"], [-10, "<invalid>"],
])("%i seconds are %s", (seconds, words) => {
  expect(humanDuration(seconds * 1000)).toBe(words);
});

describe("paths of printer columns", () => {
  const object = {
    metadata: { labels: { "a.b/c": "label" } },
    status: {
      phase: "Running",
      conditions: [
        { type: "Ready", status: "True" },
        { type: "Other", status: "False" },
      ],
    },
    list: ["x", "y"],
  };
  test.each([
    [".status.phase", ["Running"]],
    [".status.conditions[?(@.type=='Ready')].status", ["True"]],
    ['.status.conditions[?(@.type == "Other")].status', ["False"]],
    [".metadata.labels.a\\.b/c", ["label"]],
    [".metadata.labels['a\\.b/c']", ["label"]],
    [".list[1]", ["y"]],
    [".list[*]", ["x", "y"]],
    [".none.here", []],
    ["nonsense", []],
  ])("%s", (path, values) => {
    expect(evaluateJsonPath(path, object)).toEqual(values);
  });
});

describe("sets of fields", () => {
  const schema = { lists: { "spec.items": ["id"], "spec.tags": [] }, atomicMaps: [] };
  const item = fc.record({ id: fc.constantFrom("a", "b", "c"), value: fc.integer() }, { requiredKeys: ["id"] });
  const object = fc.record(
    {
      spec: fc.record(
        {
          items: fc.uniqueArray(item, { selector: ({ id }) => id }),
          tags: fc.uniqueArray(fc.constantFrom("x", "y", "z")),
          map: fc.dictionary(fc.constantFrom("k", "l"), fc.string()),
          size: fc.integer(),
        },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  );

  test("are the same after they were written and read", () => {
    fc.assert(
      fc.property(object, (value) => {
        const fields = fieldsOf(value, schema);
        expect(decodeFields(encodeFields(fields))).toEqual(fields);
      }),
      { seed: 20_260_301 },
    );
  });

  test("what was merged is there, and merging again changes nothing", () => {
    fc.assert(
      fc.property(object, object, (live, applied) => {
        const merged = mergeFields(live, applied, schema);
        const missing = [...fieldsOf(applied, schema)].filter((field) => !hasBelow(fieldsOf(merged, schema), field));
        expect(missing).toEqual([]);
        expect(mergeFields(merged, applied, schema)).toEqual(merged);
      }),
      { seed: 20_260_301 },
    );
  });

  test("objects that do not differ differ in nothing", () => {
    fc.assert(
      fc.property(object, (value) => {
        const { added, modified, removed } = differenceOf(value, structuredClone(value), schema);
        expect(added.size + modified.size + removed.size).toBe(0);
      }),
      { seed: 20_260_301 },
    );
  });

  test("what was removed is gone", () => {
    const value = { spec: { items: [{ id: "a", value: 1 }, { id: "b" }], tags: ["x", "y"], map: { k: "1" } } };
    const fields = new Set(['f:spec\nf:items\nk:{"id":"b"}', 'f:spec\nf:tags\nv:"x"', "f:spec\nf:map\nf:k"]);
    expect(removeFields(value, fields, schema)).toEqual({ spec: { items: [{ id: "a", value: 1 }], tags: ["y"] } });
  });

  test.each([
    ["f:spec\nf:size", ".spec.size"],
    ['f:spec\nf:items\nk:{"id":"a"}\nf:value', '.spec.items[id="a"].value'],
    ['f:spec\nf:tags\nv:"x"', '.spec.tags[="x"]'],
  ])("%j is shown as %s", (field, shown) => {
    expect(showField(field)).toBe(shown);
  });
});

const items = (...names: string[]) => names.map((name) => ({ name }));

describe("strategic merge", () => {
  const lists = { "spec.items": ["name"], "spec.tags": [] };
  const merged = (original: object, patch: object) =>
    applyStrategicPatch({ spec: original }, { spec: patch }, lists).spec;

  test.each<readonly [string, object, object, object]>([
    [
      "unnamed items keep their place",
      { items: items("a", "b", "c") },
      { items: items("b") },
      { items: items("a", "b", "c") },
    ],
    ["new items come before unnamed ones", { items: items("a") }, { items: items("n") }, { items: items("n", "a") }],
    [
      "the client's order wins where it gives one",
      { items: items("a", "b") },
      { "$setElementOrder/items": items("b", "a") },
      { items: items("b", "a") },
    ],
    [
      "an item is deleted",
      { items: items("a", "b") },
      { items: [{ name: "a", $patch: "delete" }] },
      { items: items("b") },
    ],
    ["keys that stay are listed", { a: 1, b: 2 }, { $retainKeys: ["b", "c"], c: 3 }, { b: 2, c: 3 }],
    ["a map is deleted", { map: { a: 1 } }, { map: { $patch: "delete" } }, { map: {} }],
    ["null removes", { a: 1, b: 2 }, { a: null }, { b: 2 }],
    ["a list without keys is replaced", { plain: [1, 2] }, { plain: [3] }, { plain: [3] }],
    ["a set is joined", { tags: ["a"] }, { tags: ["b", "a"] }, { tags: ["b", "a"] }],
  ])("%s", (_title, original, patch, expected) => {
    expect(merged(original, patch)).toEqual(expected);
  });
});
