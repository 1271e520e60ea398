/** What a pass in a process of its own may be asked to do, and what it says of it. */
import * as z from "zod";

/** A collection, page by page. */
const List = z.object({ path: z.string(), query: z.record(z.string(), z.string()) });
export type List = z.output<typeof List>;

export const WorkSchema = z.discriminatedUnion("work", [
  z.object({ work: z.literal("reconcile") }),
  z.object({ work: z.literal("tick") }),
  z.object({ work: z.literal("deschedule"), dryRun: z.boolean() }),
  /** The floor. */
  z.object({ work: z.literal("read"), lists: z.array(List) }),
]);
export type Work = z.output<typeof WorkSchema>;

export const PassSchema = z.object({
  requests: z.number(),
  /** In the answers: an item of a list is one. */
  objects: z.number(),
  bytes: z.number(),
  cpuMs: z.number(),
  ms: z.number(),
  /** By action verb, or by result of a nomination. */
  done: z.record(z.string(), z.number()),
  /** `namespace/name` of pods whose evacuation or eviction was requested. */
  requested: z.array(z.string()),
});
export type Pass = z.output<typeof PassSchema>;
export type Done = Pick<Pass, "done" | "requested">;

/** The answer of a reconcile. */
export const Reconciled = z.object({ done: z.record(z.string(), z.number()), failures: z.literal(0) });

const Cycle = z.object({
  ended: z.literal("Finished"),
  results: z.record(z.string(), z.number()),
  requested: z.array(z.object({ pod: z.string() })),
});

/** The answer of a cycle of descheduling. */
export function readCycle(answer: unknown): Done {
  const { results, requested } = Cycle.parse(answer);
  return { done: results, requested: requested.map(({ pod }) => pod) };
}
