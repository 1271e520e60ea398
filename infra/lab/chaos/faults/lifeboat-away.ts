/** Fault: Lifeboat's address does not answer for a while. */
import { atTimes, type Fault } from "../fault.ts";

export const lifeboatAway: Fault = {
  says: "nothing answers at Lifeboat's address for a while",
  weight: 4,
  inject: (run, draw) => atTimes(run, draw, [1, 2], () => run.replicas.silence(draw.int(200, 1500))),
};
