/**
 * Size limits of the parts of an object that Lifeboat keeps or reads. Tenants decide the size of their objects and may
 * have thousands. Lifeboat rejects a larger object, and each decision that needs the object reports the rejection.
 */
import type * as z from "zod/mini";

type Texts = Readonly<Record<string, string>>;
type Issues = z.core.ParsePayload["issues"];

/** The maximum length of one object's facts as JSON, in characters, unless its kind has another limit. */
export const LARGEST_FACTS = 16 * 1024;
/** The limit for kinds that no tenant can create. */
export const LARGE_FACTS = 256 * 1024;

/** Rejects an object if a part of it is larger than `most`, because tenants decide how large their objects are. */
export function checkSize(length: number, most: number, { of, issues }: { readonly of: string; issues: Issues }): void {
  if (length <= most) return;
  const message = `expected at most ${kilobytes(most)} of ${of}, not ${kilobytes(length)}`;
  issues.push({ code: "custom", input: undefined, path: [], message });
}

function kilobytes(length: number): string {
  return `${Math.ceil(length / 1024)} KiB`;
}

/** The maximum length of a pod's labels and annotations. */
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
