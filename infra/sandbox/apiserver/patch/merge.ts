/**
 * JSON Merge Patch (RFC 7386).
 * Owns: its five lines of logic. Does not own: the check that the body is an object (patching.ts).
 */
import { isRecord } from "../objects.ts";

export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}
