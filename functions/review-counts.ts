/** Reviews that this process has answered, but for dry runs. */
import { type Family, renderOpenMetrics } from "../shared/metrics/open-metrics.ts";

export const REVIEWS = ["evictions", "deletions"] as const;
export const ANSWERS = ["allowed", "refused", "undecided"] as const;

export const REVIEW_FAMILY: Family = {
  name: "lifeboat_reviews",
  type: "counter",
  unit: "",
  labels: ["review", "answer"],
  help: "Reviews that this replica has answered since it started; undecided: without the facts.",
};

export class ReviewCounts {
  readonly #counts = new Map<string, number>();

  count(review: (typeof REVIEWS)[number], answer: (typeof ANSWERS)[number]): void {
    const key = `${review} ${answer}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  /** All there can be are there from the start. */
  render(): string {
    const samples = REVIEWS.flatMap((review) =>
      ANSWERS.map((answer) => ({ labels: [review, answer], value: this.#counts.get(`${review} ${answer}`) ?? 0 })),
    );
    return renderOpenMetrics([[REVIEW_FAMILY, samples]]);
  }
}
