import { type Fault, injectEffect, LIFEBOAT, WRITES } from "../fault.ts";

export const apiConflicts: Fault = {
  says: "the API server answers Lifeboat's writes with 409",
  weight: 4,
  simulated: true,
  inject(run, draw) {
    const match = { users: LIFEBOAT, verbs: WRITES };
    injectEffect(run, { type: "Error", code: 409 }, draw.int(10, 40) / 100, match);
  },
};
