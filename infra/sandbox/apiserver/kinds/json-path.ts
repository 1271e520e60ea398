/**
 * The JSONPath of printer columns: `.status.phase`, `.status.conditions[?(@.type=="Ready")].status`, `.a[0]`, `.a[*]`,
 * `.metadata.labels['a\.b/c']`.
 * Owns: that subset, which is all that printer columns allow in practice. Does not own: columns (custom.ts).
 */
import { isRecord } from "../objects.ts";

type Step = (value: unknown) => readonly unknown[];

const STEPS: readonly (readonly [RegExp, (match: RegExpExecArray) => Step])[] = [
  [/^\[\?\(@\.([^=!<>)]+?)\s*==\s*["']?([^"')]*)["']?\)\]/, ([, path = "", wanted]) => where(path, wanted)],
  [/^\[\*\]/, () => (value) => (Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [])],
  [
    /^\[(-?\d+)\]/,
    ([, index]) =>
      (value) =>
        Array.isArray(value) ? present(value.at(Number(index))) : [],
  ],
  [/^\[['"]((?:[^'"\\]|\\.)*)['"]\]/, ([, key = ""]) => child(key)],
  [/^\.((?:[^.[\\]|\\.)+)/, ([, key = ""]) => child(key)],
];

const compiled = new Map<string, readonly Step[]>();

export function evaluateJsonPath(path: string, object: unknown): readonly unknown[] {
  let steps = compiled.get(path);
  if (steps === undefined) {
    steps = compile(path);
    compiled.set(path, steps);
  }
  return steps.reduce<readonly unknown[]>((values, step) => values.flatMap(step), [object]);
}

function compile(path: string): readonly Step[] {
  const steps: Step[] = [];
  let rest = path;
  while (rest !== "") {
    const found = STEPS.map(([pattern, make]) => ({ match: pattern.exec(rest), make })).find(
      ({ match }) => match !== null,
    );
    if (!found?.match) return [() => []]; // the real server shows an empty cell for what it cannot evaluate
    steps.push(found.make(found.match));
    rest = rest.slice(found.match[0].length);
  }
  return steps;
}

function child(escaped: string): Step {
  const key = escaped.replace(/\\(.)/g, "$1");
  return (value) => (isRecord(value) ? present(value[key]) : []);
}

function where(path: string, wanted: string | undefined): Step {
  const inner = compile(`.${path}`);
  return (value) => (Array.isArray(value) ? value.filter((item) => String(walk(inner, item)[0]) === wanted) : []);
}

function walk(steps: readonly Step[], value: unknown): readonly unknown[] {
  return steps.reduce<readonly unknown[]>((values, step) => values.flatMap(step), [value]);
}

function present(value: unknown): readonly unknown[] {
  return value === undefined ? [] : [value];
}
