/** Lists the ways in which a server differs from a correct API server. */
import * as fc from "fast-check";
import { bending, mutatedText } from "../../../support/generators/json.ts";
import { type Json } from "../../../support/json.ts";
import { usually } from "../../../support/generators/often.ts";
import { failure, type Reply as ApiReply } from "../../../support/cluster/api.ts";
import { UPSTREAM } from "../canaries.ts";

export interface Reply {
  readonly code: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Outcome =
  | { readonly kind: "Reply"; readonly reply: Reply }
  /** The connection breaks before the answer, or in the middle of the answer if `within` is set. */
  | { readonly kind: "Broken"; readonly within: boolean }
  | { readonly kind: "Slow"; readonly seconds: number };

export type Misbehave = (good: ApiReply) => Outcome;

// prettier-ignore
const CODES = [
  [400, "BadRequest"], [401, "Unauthorized"], [403, "Forbidden"], [404, "NotFound"], [409, "Conflict"], [410, "Expired"],
  [422, "Invalid"], [429, "TooManyRequests"], [500, "InternalError"], [503, "ServiceUnavailable"],
] as const;

const instead =
  (code: number, body: Json | string, headers = {}) =>
  (): Outcome => {
    return { kind: "Reply", reply: { code, text: typeof body === "string" ? body : JSON.stringify(body), headers } };
  };

const refused = fc.constantFrom(...CODES).map(([code, reason]) => {
  return instead(code, failure(code, reason, `${reason}: ${UPSTREAM}`).body);
});
const html = fc.constantFrom(200, 403, 404, 409, 502).map((code) => instead(code, `<html><h1>${UPSTREAM}</h1></html>`));
const moved = fc.constantFrom(301, 302, 307).map((code) => instead(code, UPSTREAM, { location: "/elsewhere" }));
const broken = fc.boolean().map((within) => (): Outcome => ({ kind: "Broken", within }));
const slow = fc.constantFrom(1, 6, 40, Infinity).map((seconds) => (): Outcome => ({ kind: "Slow", seconds }));
/** Draws lists with items of another kind. Some lists always announce a further page. */
const strange = fc
  .tuple(fc.constantFrom(0, 3, 300), fc.constantFrom({}, {}, {}, { continue: "more" }))
  .map(([n, metadata]) => {
    const items = Array.from({ length: n }, (_, i) => ({ metadata: { name: `i${i}`, uid: UPSTREAM } }));
    return instead(200, { kind: "PodList", metadata, items });
  });
const bent = bending([1, 1, 3, 20]).map(
  (bend): Misbehave =>
    ({ code, body }) =>
      instead(code, bend(body))(),
);
const garbled = mutatedText(fc.constant('{"kind":"List","metadata":{},"items":[]}')).map((text) => instead(200, text));

export const misbehave: fc.Arbitrary<Misbehave> = fc.oneof(
  { weight: 2, arbitrary: refused },
  html,
  moved,
  broken,
  slow,
  strange,
  { weight: 2, arbitrary: bent },
  garbled,
);

/** A sequence of answers that repeats. Some of the answers can be bad. */
export const behaviour: fc.Arbitrary<readonly (Misbehave | undefined)[]> = fc.oneof(
  fc.constant([]),
  fc.constant([]),
  ...[50, 10, 2].map((times) =>
    fc.array(usually(fc.constant(undefined), misbehave, times), { minLength: times, maxLength: 2 * times + 5 }),
  ),
);
