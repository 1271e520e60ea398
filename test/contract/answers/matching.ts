/**
 * Whether a value is what was recorded.
 * Owns: the placeholders of the recording, where it cut. Does not own: which value (compare.ts).
 */

/** What varies from run to run, as the recording writes it. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  "<n>": "\\d+",
  "<uid>": "[-0-9a-f]{36}",
  "<issuer>": ".+",
  "<webhook>": ".+",
  "<url>": ".+",
  "w*300": "w{300}",
  // The middle of a long text.
  " ... ": ".*",
};

const PLACEHOLDER = new RegExp(Object.keys(PLACEHOLDERS).map(escaped).join("|"), "g");

export function matches(recorded: unknown, seen: unknown): boolean {
  if (typeof recorded === "string") return typeof seen === "string" && patternOf(recorded).test(seen);
  if (Array.isArray(recorded))
    return (
      Array.isArray(seen) && seen.length === recorded.length && recorded.every((item, at) => matches(item, seen[at]))
    );
  if (typeof recorded === "object" && recorded !== null) return matchesObject(recorded, seen);
  return recorded === (seen ?? null);
}

/** What is null or absent is the same. */
function matchesObject(recorded: object, seen: unknown): boolean {
  if (typeof seen !== "object" || seen === null || Array.isArray(seen)) return false;
  const keys = new Set([...Object.keys(recorded), ...Object.keys(seen)]);
  return [...keys].every((key) => matches(Reflect.get(recorded, key) ?? null, Reflect.get(seen, key) ?? null));
}

/** Messages were cut after a multiple of ten characters; one of them at the front. */
export function matchesCut(recorded: unknown, seen: unknown): boolean {
  if (typeof recorded !== "string" || recorded.length % 10 !== 0) return matches(recorded, seen);
  return typeof seen === "string" && patternOf(recorded, "").test(seen);
}

function patternOf(recorded: string, end = "$"): RegExp {
  const pattern = recorded.split(PLACEHOLDER).map(escaped);
  const placeholders = recorded.match(PLACEHOLDER) ?? [];
  const source = pattern.map((text, at) => text + (PLACEHOLDERS[placeholders[at] ?? ""] ?? "")).join("");
  return new RegExp(end === "" ? source : `^${source}${end}`, "s");
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
