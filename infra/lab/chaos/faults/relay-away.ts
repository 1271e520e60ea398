/** Fault: the relay stops, and another relay starts after a while. */
import { atTimes, type Fault } from "../fault.ts";

export const relayAway: Fault = {
  says: "the relay stops, and another relay starts after a while",
  weight: 4,
  form: "Worker",
  inject: (run, draw) => atTimes(run, draw, [1, 3], () => run.relay.stopFor(draw.int(50, 2000))),
};
