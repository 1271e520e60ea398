/** Names of the objects that Lifeboat creates: every function derives the same one. */

const LONGEST_NAME = 63;

/** `<prefix><VMI, cut>-<suffix>`, a valid object name of at most 63 characters. */
export function derivedName(prefix: string, vmiName: string, suffix: string): string {
  const room = LONGEST_NAME - `${prefix}-${suffix}`.length;
  return `${prefix}${vmiName.slice(0, room).replace(/[-.]+$/, "")}-${suffix}`;
}

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** FNV-1a: eight hexadecimal digits that depend on the text only. Not for security: 32 bits, trivially collidable. */
export function hash8(text: string): string {
  let hash = OFFSET_BASIS;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME) >>> 0;
  return hash.toString(16).padStart(8, "0");
}
