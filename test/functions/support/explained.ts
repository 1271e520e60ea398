/** What explain answers, as far as tests look at it. */
import * as z from "zod/mini";

export const Explained = z.object({
  decision: z.object({
    allowed: z.boolean(),
    reason: z.string(),
    message: z.optional(z.string()),
    warnings: z._default(z.array(z.string()), []),
  }),
  actions: z.array(z.string()),
  facts: z.object({ vmi: z.optional(z.looseObject({})) }),
});
