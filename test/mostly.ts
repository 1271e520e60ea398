/**
 * Facts that mostly fit together. Fields that are drawn independently hardly ever do, and what is decided early about
 * facts that do not fit is all that a property then sees.
 * Owns: how often they fit, and in how many fields they do not. Does not own: the facts.
 */
import * as fc from "fast-check";

const MOST_ODDITIES = 2;

/** Two of three fit, but for a field or two; the others are any. */
export function mostly<T extends object>(fitting: fc.Arbitrary<T>, any: fc.Arbitrary<T>): fc.Arbitrary<T> {
  const which = fc.array(fc.nat(), { maxLength: MOST_ODDITIES });
  const almost = fc.tuple(fitting, any, which).map(([fits, odd, fields]) => mixed(fits, odd, fields));
  return fc.oneof({ weight: 2, arbitrary: almost }, { weight: 1, arbitrary: any });
}

/** Some fields are as in the other one: they may be absent there. */
function mixed<T extends object>(fits: T, odd: T, fields: readonly number[]): T {
  const keys = Object.keys({ ...fits, ...odd });
  const result = { ...fits };
  for (const field of fields) {
    const key = keys[field % keys.length];
    if (key === undefined) continue;
    Reflect.deleteProperty(result, key);
    if (Object.hasOwn(odd, key)) Reflect.set(result, key, Reflect.get(odd, key));
  }
  return result;
}
