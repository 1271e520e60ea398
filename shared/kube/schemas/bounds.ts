/**
 * Limits the size of objects that Lifeboat reads, because tenants decide the size of their objects. Larger objects are
 * rejected and reported.
 */
import type * as z from "zod/mini";

type Texts = Readonly<Record<string, string>>;
type Issues = z.core.ParsePayload["issues"];

/** The default limit for the facts of one object as JSON, in characters. */
export const LARGEST_FACTS = 16 * 1024;
/** The limit for kinds that tenants cannot create, in characters. */
export const LARGE_FACTS = 256 * 1024;

/** Rejects an object if the length of one of its parts is more than `most`. */
export function checkSize(length: number, most: number, { of, issues }: { readonly of: string; issues: Issues }): void {
  if (length <= most) return;
  const message = `expected at most ${kilobytes(most)} of ${of}, not ${kilobytes(length)}`;
  issues.push({ code: "custom", input: undefined, path: [], message });
}

function kilobytes(length: number): string {
  return `${Math.ceil(length / 1024)} KiB`;
}

/** The maximum length of a pod's labels and annotations together, in characters. */
const LARGEST_TEXTS = 16 * 1024;

export function checkTexts(maps: readonly (Texts | undefined)[], issues: Issues): void {
  const length = maps.reduce((sum, map) => sum + lengthOf(map), 0);
  checkSize(length, LARGEST_TEXTS, { of: "labels and annotations", issues });
}

export function lengthOf(texts: Texts | undefined): number {
  let length = 0;
  for (const key in texts) length += key.length + (texts[key]?.length ?? 0);
  return length;
}
