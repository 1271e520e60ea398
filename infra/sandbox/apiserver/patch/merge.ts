/** JSON Merge Patch (RFC 7386). Nulls in lists are also removed, as in the real server's library. */
import { isRecord } from "../objects.ts";

export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) return patch.map((item: unknown) => applyMergePatch(undefined, item));
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}
