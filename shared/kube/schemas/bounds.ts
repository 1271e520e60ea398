/**
 * How large the parts of an object may be that Lifeboat keeps or reads. A tenant decides how large its objects are, and may have thousands of
 * them: an object above its bound is odd, and each decision that needs it says so.
 */
import type * as z from "zod/mini";

type Texts = Readonly<Record<string, string>>;
type Issues = z.core.ParsePayload["issues"];

/** The characters of JSON that the facts of one object may take, unless its kind says otherwise. Lifeboat's own need some 2 KB. */
export const LARGEST_FACTS = 16 * 1024;
/** Kinds that no tenant can create. */
export const LARGE_FACTS = 256 * 1024;

/** Makes an object odd whose parts would take more memory than such an object needs: its creator may be anybody. */
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
