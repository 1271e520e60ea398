/** What the fleet's process may be asked to do, and what it says of it. */
import * as z from "zod";
import { startChild } from "./child.ts";

export const FleetSchema = z.object({
  /** Entries of `CLUSTERS`. */
  clusters: z.record(z.string(), z.looseObject({ server: z.string() })),
  /** Authorities of the API servers. */
  caPems: z.array(z.string()),
  ticks: z.number(),
  /** So many consumers of the queue at a time; 0: no queue, the clusters in turn. */
  consumers: z.number(),
});
export type Fleet = z.output<typeof FleetSchema>;

const TickSchema = z.object({
  /** Of each cluster whose Evacuations were answered: how many milliseconds after the tick began. */
  servedMs: z.record(z.string(), z.number()),
  requests: z.number(),
  bytes: z.number(),
});
export type FleetTick = z.output<typeof TickSchema>;

export const Ticked = z.object({ ticks: z.array(TickSchema) });

export async function runFleet(fleet: Fleet): Promise<readonly FleetTick[]> {
  const child = startChild("fleet-process.ts", fleet);
  try {
    return (await child.next(Ticked)).ticks;
  } finally {
    await child.stop();
  }
}
