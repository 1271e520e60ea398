import { atTimes, type Fault, injectEffect, simulatedIn } from "../fault.ts";

export const watchesBreak: Fault = {
  says: "watches break, and the API server forgets changes of the past: 410",
  simulated: true,
  async inject(run, draw) {
    injectEffect(run, { type: "DroppedWatch", afterEvents: draw.int(3, 20) }, 0.5, { verbs: ["watch"] });
    await atTimes(run, draw, [1, 3], () => simulatedIn(run).apiServer.compact());
  },
};
