/**
 * Text to value and back for what we ourselves keep in a cluster: the evacuation record and the slots register.
 * Owns: their JSON. Does not own: their meaning (shared/policy). Whoever may edit the objects may have edited these, so
 * they are parsed like anything else from outside; what does not parse counts as absent.
 */
import * as z from "zod/mini";
import { CAUSES } from "../policy/cause.ts";
import type { EvacuationRecord } from "../policy/record.ts";
import type { Slot } from "../policy/slots.ts";

const Time = z.lazy(() => z.string().check(z.refine((text) => !Number.isNaN(Date.parse(text)))));

const EvacuationRecordText = z.lazy(() =>
  z.object({
    id: z.string().check(z.regex(/^[0-9a-f]{8}$/)),
    cause: z.enum(CAUSES),
    requestedBy: z.string(),
    node: z.string(),
    podUID: z.exactOptional(z.string()),
    since: Time,
    attempts: z.int().check(z.nonnegative()),
    notBefore: z.exactOptional(Time),
    outcome: z.exactOptional(z.enum(["Abandoned", "Cancelled"])),
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
export function slotsText(slots: readonly Slot[]): string {
  return slots.length === 0 ? "[]" : `[\n${slots.map((slot) => `  ${JSON.stringify(slot)}`).join(",\n")}\n]`;
}
