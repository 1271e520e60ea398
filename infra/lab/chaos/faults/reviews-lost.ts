/** Fault: the API server's calls to Lifeboat break before or after Lifeboat receives the eviction. */
import { type Fault, injectEffect } from "../fault.ts";

export const reviewsLost: Fault = {
  says: "the API server's calls to Lifeboat about evictions break before or after Lifeboat receives them",
  weight: 5,
  simulated: true,
  inject(run, draw) {
    for (const type of ["LostReview", "LostVerdict"] as const)
      injectEffect(run, { type }, draw.int(5, 35) / 100, { webhooks: ["evictions.lifeboat.dev"] });
  },
};
