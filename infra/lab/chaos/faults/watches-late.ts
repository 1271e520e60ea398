/** Fault: a replica's watches are late, and then deliver everything at once. */
import { atTimes, type Fault, waited } from "../fault.ts";

export const watchesLate: Fault = {
  says: "a replica's watches deliver nothing for a while, and then everything at once",
  weight: 6,
  form: "InCluster",
  inject: (run, draw) =>
    atTimes(run, draw, [2, 6], async () => {
      const { watches } = draw.pick(run.replicas.alive);
      watches?.hold();
      await waited(run, draw.int(100, 3000));
      watches?.release();
    }),
};
