/**
 * Names of the objects that Lifeboat creates.
 * Owns: their form. Does not own: which objects there are.
 */
const LONGEST_NAME = 63;

/** `<prefix><VMI, cut>-<suffix>`, a valid object name of at most 63 characters. */
export function derivedName(prefix: string, vmiName: string, suffix: string): string {
  const room = LONGEST_NAME - `${prefix}-${suffix}`.length;
  return `${prefix}${vmiName.slice(0, room).replace(/[-.]+$/, "")}-${suffix}`;
}
