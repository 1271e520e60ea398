/**
 * Facts that mostly fit together. Fields that are drawn independently hardly ever do, and what is decided early about
 * facts that do not fit is all that a property then sees.
 * Owns: how often they fit, and in how many fields they do not. Does not own: the facts.
 */
import * as fc from "fast-check";

const MOST_ODDITIES = 2;

/** Two of three fit, but for a field or two; the others are any. */
export function mostly<T extends object>(fitting: fc.Arbitrary<T>, any: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 2, arbitrary: almost(fitting, any) }, { weight: 1, arbitrary: any });
}

/** What fits, but for a field or two: they are as in the other one, and may be absent there. */
export function almost<T extends object>(fitting: fc.Arbitrary<T>, any: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc
    .tuple(fitting, any, fc.array(fc.noBias(fc.nat()), { maxLength: MOST_ODDITIES }))
    .map(([fits, odd, fields]) => {
      const keys = Object.keys({ ...fits, ...odd });
      const result = { ...fits };
      for (const field of fields) put(result, odd, keys[field % keys.length] ?? "");
      return result;
    });
}

function put(into: object, from: object, key: string): void {
  Reflect.deleteProperty(into, key);
  if (Object.hasOwn(from, key)) Reflect.set(into, key, Reflect.get(from, key));
}
