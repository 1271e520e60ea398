/**
 * Ways in which what answers is not the API server one would like.
 * Owns: bad answers, slow ones, none. Does not own: good ones (store.ts).
 */
import { UPSTREAM } from "../canaries.ts";
import type { Json } from "../json-mutations.ts";
import { mutated } from "../json-mutations.ts";
import type { Random } from "../random.ts";
import { mutatedText } from "../text-mutations.ts";
import { type ApiReply, statusReply } from "./store.ts";

export type Outcome =
  | { readonly kind: "Reply"; readonly reply: ApiReply; readonly headers?: Readonly<Record<string, string>> }
  /** The connection breaks, before the answer or within it. */
  | { readonly kind: "Broken"; readonly within: boolean }
  | { readonly kind: "Never" }
  | { readonly kind: "Slow"; readonly seconds: number };

const CODES: readonly (readonly [number, string])[] = [
  [400, "BadRequest"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [409, "Conflict"],
  [410, "Expired"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [503, "ServiceUnavailable"],
];

const reply = (code: number, text: string): Outcome => ({ kind: "Reply", reply: { code, text } });

function mutatedReply({ code, text }: ApiReply, random: Random): Outcome {
  if (random.chance(0.3)) return reply(code, mutatedText(text, random));
  const parsed: Json = JSON.parse(text);
  return reply(code, JSON.stringify(mutated(parsed, random, random.pick([1, 1, 3, 20]))));
}

/** Items of somebody else's; a list that never ends says that there is more. */
function strangeList(random: Random): Outcome {
  const items = Array.from({ length: random.pick([0, 3, 300]) }, (_, i) => ({
    metadata: { name: `i${i}`, uid: UPSTREAM },
  }));
  const metadata = random.chance(0.2) ? { continue: "more" } : {};
  return reply(200, JSON.stringify({ kind: "PodList", metadata, items }));
}

export function misbehave(good: ApiReply, random: Random): Outcome {
  switch (random.below(10)) {
    case 0:
    case 1: {
      const { code, text } = statusReply(...random.pick(CODES));
      return reply(code, text);
    }
    case 2:
      return reply(random.pick([200, 403, 404, 409, 502]), `<html><h1>${UPSTREAM}</h1></html>`);
    case 3:
      return {
        kind: "Reply",
        reply: { code: random.pick([301, 302, 307]), text: UPSTREAM },
        headers: { location: "/elsewhere" },
      };
    case 4:
      return { kind: "Broken", within: random.chance(0.5) };
    case 5:
      return random.chance(0.3) ? { kind: "Never" } : { kind: "Slow", seconds: random.pick([1, 6, 40]) };
    case 6:
      return strangeList(random);
    default:
      return mutatedReply(good, random);
  }
}
