/** Results as a file, for a later run to be compared with. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { dirname } from "node:path";
import * as z from "zod";
import { type Measurement, PARTS, UNITS } from "./measurement.ts";

const SummarySchema = z.object({ median: z.number(), min: z.number(), max: z.number(), samples: z.number() });

const MeasurementSchema = z.object({
  part: z.enum(PARTS),
  what: z.string(),
  unit: z.enum(UNITS),
  value: SummarySchema,
  against: z.object({ what: z.string(), median: z.number() }).exactOptional(),
  ratio: SummarySchema.exactOptional(),
  tenfold: z.number().exactOptional(),
  target: z.number().exactOptional(),
});

const ResultsSchema = z.object({
  version: z.literal(1),
  date: z.string(),
  quick: z.boolean(),
  seconds: z.number(),
  machine: z.object({
    node: z.string(),
    cpu: z.string(),
    cores: z.number(),
    memoryGiB: z.number(),
    /** Processes that wanted to run, on average over the minute before: how busy it was with other things. */
    loadBefore: z.number(),
  }),
  measurements: z.array(MeasurementSchema),
});

export type Results = z.infer<typeof ResultsSchema>;

export function describeMachine(): Results["machine"] {
  return {
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

export async function readResults(file: string): Promise<Results & { readonly measurements: readonly Measurement[] }> {
  const parsed = ResultsSchema.safeParse(JSON.parse(await readFile(file, "utf8")));
  if (parsed.success) return parsed.data;
  throw new Error(`${file} holds no results of this benchmark: ${z.prettifyError(parsed.error)}`);
}

export async function writeResults(file: string, results: Results): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`);
}
