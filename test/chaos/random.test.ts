/** Chance that can be repeated. */
import { expect, test } from "vitest";
import { randomOf } from "../../infra/chaos/random.ts";

test("both ends of a range are drawn, and nothing beyond", () => {
  const random = randomOf("range");
  expect(new Set(Array.from({ length: 200 }, () => random.int(3, 5)))).toEqual(new Set([3, 4, 5]));
});

test("a sample has no one twice, and no more than there are", () => {
  const random = randomOf("sample");
  for (let i = 0; i < 50; i++) expect(new Set(random.sample([1, 2, 3, 4], 3)).size).toBe(3);
  expect(new Set(random.sample([1, 2], 9))).toEqual(new Set([1, 2]));
});
