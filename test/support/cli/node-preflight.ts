/** Parses the output of `lifeboat explain node -o json`. */
import * as z from "zod/mini";

const Outcome = z.enum(["Moves", "Follows", "Waits", "ShutsDown", "Evicted", "Stays", "Ended", "Blocked"]);

const PodPreflight = z.strictObject({
  namespace: z.string(),
  name: z.string(),
  vmi: z.optional(z.string()),
  outcome: Outcome,
  reason: z.string(),
  message: z.string(),
  remedy: z.optional(z.string()),
  room: z.optional(
    z.strictObject({
      fits: z.boolean(),
      node: z.optional(z.string()),
      otherCpu: z.optional(z.boolean()),
      nodes: z.int(),
      message: z.optional(z.string()),
    }),
  ),
});

export const NodePreflight = z.strictObject({
  node: z.string(),
  verdict: z.enum(["WillBlock", "NoRoom", "Unknown", "WillSucceedWithShutdowns", "WillSucceed"]),
  summary: z.string(),
  counts: z.partialRecord(Outcome, z.int()),
  time: z.optional(
    z.strictObject({
      moves: z.int(),
      atOnce: z.int(),
      seconds: z.strictObject({ least: z.number(), most: z.number() }),
      basis: z.string(),
    }),
  ),
  pods: z.array(PodPreflight),
  unknown: z.array(z.string()),
});
