/** Fault: the API server restarts, and accepts no connections for a while. */
import { atTimes, type Fault, waited } from "../fault.ts";

export const apiServerAway: Fault = {
  says: "the API server restarts: its connections break, and for a while it accepts no new connections",
  weight: 4,
  breaksVirtApi: true,
  inject: (run, draw) =>
    atTimes(run, draw, [1, 2], async () => {
      const { apiServer } = run.cluster.sandbox;
      await apiServer.suspend();
      await waited(run, draw.int(100, 1200));
      await apiServer.resume();
    }),
};
