/** Fault: the API server answers Lifeboat's requests with errors, or breaks the connection. */
import type { Effect } from "../../../sandbox/index.ts";
import { type Fault, injectEffect, LIFEBOAT, WRITES } from "../fault.ts";

const EFFECTS: readonly Effect[] = [
  { type: "Error", code: 401 },
  { type: "Error", code: 409 },
  { type: "Error", code: 500 },
  { type: "Error", code: 503 },
  { type: "Error", code: 429 },
  { type: "ConnectionReset" },
  { type: "LostAnswer" },
  { type: "TruncatedBody" },
];

export const apiErrors: Fault = {
  says: "the API server does not answer Lifeboat's requests correctly: 401, 409, 429, 500, 503, broken connections, lost and truncated answers",
  weight: 12,
  simulated: true,
  inject(run, draw) {
    for (const effect of draw.some(EFFECTS, 1, 3)) {
      const isOfWrites = effect.type === "LostAnswer" || (effect.type === "Error" && effect.code === 409);
      injectEffect(run, effect, draw.int(5, 30) / 100, { users: LIFEBOAT, ...(isOfWrites && { verbs: WRITES }) });
    }
  },
};
