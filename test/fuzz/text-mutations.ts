/**
 * Text bent out of shape: cut off, flipped, doubled, nested without end, no text at all.
 * Owns: textual mutations. Does not own: mutations of the structure (json-mutations.ts).
 */
import type { Random } from "./random.ts";

type Mutation = (text: string, random: Random) => string;

const cut: Mutation = (text, random) => text.slice(0, random.below(text.length + 1));
const flip: Mutation = (text, random) => {
  const at = random.below(text.length + 1);
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ (1 << random.below(8))) + text.slice(at + 1);
};
const insert: Mutation = (text, random) => {
  const at = random.below(text.length + 1);
  return (
    text.slice(0, at) +
    random.pick(["\u0000", '"', "{", "]", ",", "\\", "\\ud800", "é", "\n", "\uFEFF", "-", "0"]) +
    text.slice(at)
  );
};
/** A value nested so deeply that whoever recurses into it has no stack left. */
const nest: Mutation = (text, random) => {
  const depth = random.pick([100, 5000, 30_000]);
  const [open, close] = random.pick([
    ["[", "]"],
    ['{"a":', "}"],
  ] as const);
  return text.replace(/:(?:"[^"]*"|\d+|true|false|null)/, () => `:${open.repeat(depth)}1${close.repeat(depth)}`);
};
const repeatKey: Mutation = (text, random) =>
  text.replace(
    "{",
    () => `{${random.pick(['"request":null', '"kind":"AdmissionReview"', '"__proto__":{"a":1}', '"metadata":7'])},`,
  );

const MUTATIONS: readonly Mutation[] = [
  cut,
  cut,
  flip,
  flip,
  insert,
  insert,
  nest,
  repeatKey,
  (text) => `\uFEFF${text}`,
  (text) => text + text,
  (text) => `[${text}]`,
  (text, random) => `${text}${" ".repeat(random.pick([1, 5000]))}`,
  () => "",
  () => "null",
  () => "<html><h1>502</h1></html>",
  (_, random) => random.pick(["[", "{}", "[]", '"', "0", "NaN", "undefined", "---\n- a", "\u0000"]),
];

export function mutatedText(text: string, random: Random): string {
  return random.pick(MUTATIONS)(text, random);
}

/** The same as bytes, some of which are no UTF-8. */
export function mutatedBytes(text: string, random: Random): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  for (let i = 0; i < 3 && bytes.length > 0; i++) bytes[random.below(bytes.length)] = random.below(256);
  return bytes;
}
