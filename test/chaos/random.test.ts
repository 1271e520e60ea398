/** Chance that can be repeated. */
import { expect, test } from "vitest";
import { randomOf } from "../../infra/chaos/random.ts";

const draws = (text: string) => {
  const random = randomOf(text);
  return Array.from({ length: 50 }, () => random.next());
};

test("the same text gives the same draws, another one others", () => {
  expect(draws("7/1")).toEqual(draws("7/1"));
  expect(draws("7/1")).not.toEqual(draws("7/2"));
});

test("from 0 to 1, all over", () => {
  const all = Array.from({ length: 40 }, (_, i) => draws(`${i}`)).flat();
  expect(Math.min(...all)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...all)).toBeLessThan(1);
  const tenths = Map.groupBy(all, (draw) => Math.floor(draw * 10));
  for (const [, { length }] of tenths) expect(length).toBeGreaterThan(all.length / 20);
  expect(tenths.size).toBe(10);
});

test("both ends of a range are drawn, and nothing beyond", () => {
  const random = randomOf("range");
  expect(new Set(Array.from({ length: 200 }, () => random.int(3, 5)))).toEqual(new Set([3, 4, 5]));
});

test("a sample has no one twice, and no more than there are", () => {
  const random = randomOf("sample");
  for (let i = 0; i < 50; i++) expect(new Set(random.sample([1, 2, 3, 4], 3)).size).toBe(3);
  expect(new Set(random.sample([1, 2], 9))).toEqual(new Set([1, 2]));
});
