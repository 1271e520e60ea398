/** Descheduling cycles, as any scheduler asks Lifeboat for them. */
import * as z from "zod/mini";
import { lifeboatOf, type Cluster } from "./cluster.ts";

const Answer = z.object({
  evacuationsInProgress: z.number(),
  nominated: z.number(),
  requested: z.array(z.object({ outcome: z.string() })),
  skipped: z.array(z.object({ why: z.string() })),
});

export type Cycle = z.output<typeof Answer>;

export async function runCycle(cluster: Cluster): Promise<Cycle> {
  return z.parse(Answer, await lifeboatOf(cluster).post("/deschedule"));
}

/** No pod has to leave, and no evacuation is in progress. */
export function isAtRest({ nominated, evacuationsInProgress }: Cycle): boolean {
  return nominated === 0 && evacuationsInProgress === 0;
}

/** `index` counts from 0. */
export function describeCycle({ nominated, requested, skipped }: Cycle, index: number): string {
  const outcomes = requested.map(({ outcome }) => outcome);
  const reasons = skipped.map(({ why }) => why);
  const said = [...counted("requested", outcomes), ...counted("skipped", reasons)];
  return `cycle ${index + 1}: ${nominated === 0 ? "nothing to do" : said.join(", ")}`;
}

/** In Lifeboat's own words for what became of a nomination. */
function counted(verb: string, results: readonly string[]): readonly string[] {
  if (results.length === 0) return [];
  const groups = [...Map.groupBy(results, (result) => result)].map(([result, { length }]) => `${result} ${length}`);
  return [`${verb} ${results.length} (${groups.join(", ")})`];
}
