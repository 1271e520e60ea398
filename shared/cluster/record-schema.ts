/**
 * Text to value and back for what we ourselves keep in a cluster: the evacuation record, the slots register, the counters.
 * Owns: their JSON. Does not own: their meaning (shared/policy). Whoever may edit the objects may have edited these, so
 * they are parsed like anything else from outside; what does not parse counts as absent, and counters as unreadable: they
 * are not written over.
 */
import * as z from "zod/mini";
import { CAUSES } from "../policy/cause.ts";
import type { CountersRegister } from "../policy/counters.ts";
import { type EvacuationRecord, MOST_RESTING, MOST_UNCOUNTED, OUTCOMES } from "../policy/record.ts";
import type { Slot } from "../policy/slots.ts";

const Time = z.lazy(() => z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text)))));

const Id = z.lazy(() => z.string().check(z.regex(/^[0-9a-f]{8}$/)));

const Uncounted = z.lazy(() => z.object({ id: Id, cause: z.enum(CAUSES), outcome: z.enum(OUTCOMES) }));

const Resting = z.lazy(() => z.object({ id: Id, attempts: z.int().check(z.nonnegative()), notBefore: Time }));

const EvacuationRecordText = z.lazy(() =>
  z.object({
    id: Id,
    cause: z.enum(CAUSES),
    requestedBy: z.string(),
    node: z.string(),
    podUID: z.exactOptional(z.string()),
    since: Time,
    attempts: z.int().check(z.nonnegative()),
    notBefore: z.exactOptional(Time),
    outcome: z.exactOptional(z.enum(["Abandoned", "Cancelled", "Withdrawn"])),
    uncounted: z.exactOptional(z.array(Uncounted).check(z.maxLength(MOST_UNCOUNTED))),
    resting: z.exactOptional(z.array(Resting).check(z.maxLength(MOST_RESTING))),
  }),
);

const Slots = z.lazy(() =>
  z.array(
    z.object({
      namespace: z.string(),
      name: z.string(),
      vmi: z.string(),
      vmiUID: z.string(),
      node: z.string(),
      id: z.string(),
      attempt: z.int(),
      cause: z.enum(CAUSES),
    }),
  ),
);

const Counted = z.lazy(() =>
  z.object({
    evacuations: z.array(
      z.object({ cause: z.enum(CAUSES), outcome: z.enum(OUTCOMES), count: z.int().check(z.nonnegative()) }),
    ),
    counted: z.array(z.string()),
  }),
);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function recordOf(text: string | undefined): EvacuationRecord | undefined {
  if (text === undefined) return undefined;
  const parsed = EvacuationRecordText.safeParse(parseJson(text));
  return parsed.success ? parsed.data : undefined;
}

export function recordText(record: EvacuationRecord): string {
  return JSON.stringify(record);
}

export function slotsOf(text: string | undefined): readonly Slot[] {
  const parsed = Slots.safeParse(parseJson(text ?? "[]"));
  return parsed.success ? parsed.data : [];
}

/** One line an entry, for whoever reads the ConfigMap. */
function lines(entries: readonly unknown[]): string {
  return entries.length === 0 ? "[]" : `[\n${entries.map((entry) => `  ${JSON.stringify(entry)}`).join(",\n")}\n]`;
}

export function slotsText(slots: readonly Slot[]): string {
  return lines(slots);
}

type Counts = Pick<CountersRegister, "evacuations" | "counted">;

/** Undefined if it is not ours to understand, a later version's perhaps. */
export function countersOf(text: string | undefined): Counts | undefined {
  if (text === undefined) return { evacuations: [], counted: [] };
  const parsed = Counted.safeParse(parseJson(text));
  return parsed.success ? parsed.data : undefined;
}

export function countersText({ evacuations, counted }: Counts): string {
  return `{\n"evacuations": ${lines(evacuations)},\n"counted": ${lines(counted)}\n}`;
}
