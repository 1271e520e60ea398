/** Whether a value matches the recorded one. */

/** Values that vary from run to run, as the recording writes them. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  "<n>": "\\d+",
  "<uid>": "[-0-9a-f]{36}",
  "<issuer>": ".+",
  "<webhook>": ".+",
  "<url>": ".+",
  "w*300": "w{300}",
  // A text with its middle cut out.
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

/** Null and missing are equal. */
function matchesObject(recorded: object, seen: unknown): boolean {
  if (typeof seen !== "object" || seen === null || Array.isArray(seen)) return false;
  const keys = new Set([...Object.keys(recorded), ...Object.keys(seen)]);
  return [...keys].every((key) => matches(Reflect.get(recorded, key) ?? null, Reflect.get(seen, key) ?? null));
}

/** Messages were cut to a multiple of ten characters, nearly all at the end. */
export function matchesCut(recorded: unknown, seen: unknown): boolean {
  if (matches(recorded, seen)) return true;
  if (typeof recorded !== "string" || typeof seen !== "string" || recorded.length % 10 !== 0) return false;
  const source = sourceOf(recorded);
  return new RegExp(`^${source}`, "s").test(seen) || new RegExp(`${source}$`, "s").test(seen);
}

function patternOf(recorded: string): RegExp {
  return new RegExp(`^${sourceOf(recorded)}$`, "s");
}

function sourceOf(recorded: string): string {
  const placeholders = recorded.match(PLACEHOLDER) ?? [];
  const texts = recorded.split(PLACEHOLDER).map(escaped);
  return texts.map((text, index) => text + (PLACEHOLDERS[placeholders[index] ?? ""] ?? "")).join("");
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
