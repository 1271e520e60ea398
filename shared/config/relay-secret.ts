/**
 * The secret that the relay signs with and the Worker verifies with: the same rule on both sides. Specification:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
import * as z from "zod/mini";

const LEAST_BYTES = 24;
const MOST_BYTES = 64;
const EXPECTED = `expected whsec_ and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} bytes`;

function isSecret(text: string): boolean {
  const [, digits = "", padding = ""] = /^whsec_([A-Za-z0-9+/]+)(={0,2})$/.exec(text) ?? [];
  const bytes = Math.floor((digits.length * 6) / 8);
  return (digits.length + padding.length) % 4 === 0 && bytes >= LEAST_BYTES && bytes <= MOST_BYTES;
}

export const RelaySecret = z.lazy(() => z.string(EXPECTED).check(z.refine(isSecret, EXPECTED)));
