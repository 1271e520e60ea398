/**
 * Size limits of the parts of an object that Lifeboat keeps or reads. Tenants decide the size of their objects and may
 * have thousands. A larger object is rejected, and each decision that needs it says so.
 */
import type * as z from "zod/mini";

type Texts = Readonly<Record<string, string>>;
type Issues = z.core.ParsePayload["issues"];

/**
 * The characters of JSON that the facts of one object may have, unless its kind has another limit. Lifeboat's own
 * objects need about 2 KB.
 */
export const LARGEST_FACTS = 16 * 1024;
/** The limit for kinds that no tenant can create. */
export const LARGE_FACTS = 256 * 1024;

/** Rejects an object if a part of it takes more memory than such an object needs, because tenants may create it. */
export function checkSize(length: number, most: number, { of, issues }: { readonly of: string; issues: Issues }): void {
  if (length <= most) return;
  const message = `expected at most ${kilobytes(most)} of ${of}, not ${kilobytes(length)}`;
  issues.push({ code: "custom", input: undefined, path: [], message });
}

function kilobytes(length: number): string {
  return `${Math.ceil(length / 1024)} KiB`;
}

/** The characters of labels and annotations that a pod may have. */
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
