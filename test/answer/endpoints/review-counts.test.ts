/** What a replica has answered since its start. */
import parse from "parse-prometheus-text-format";
import { expect, test } from "vitest";
import { ReviewCounts } from "../../../functions/review.ts";

test("by review and answer, all of them from the start", () => {
  const counts = new ReviewCounts();
  counts.count("evictions", "undecided");
  counts.count("evictions", "undecided");
  counts.count("deletions", "refused");
  const family = parse(counts.render()).find(({ name }) => name === "lifeboat_reviews_total");
  const samples = family?.metrics.map(({ labels = {}, value }) => [...Object.values(labels), Number(value)]);
  expect(samples).toEqual([
    ["evictions", "allowed", 0],
    ["evictions", "refused", 0],
    ["evictions", "undecided", 2],
    ["deletions", "allowed", 0],
    ["deletions", "refused", 1],
    ["deletions", "undecided", 0],
  ]);
});
