/**
 * A short, stable hash for deterministic object names.
 * Owns: FNV-1a over UTF-16 code units. Does not own: security; nothing secret or hostile depends on it.
 */

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** Eight hexadecimal digits that depend on the text only. Not for security: 32 bits, trivially collidable. */
export function hash8(text: string): string {
  let hash = OFFSET_BASIS;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME) >>> 0;
  return hash.toString(16).padStart(8, "0");
}
