import { nodes } from "../../../sandbox/index.ts";
import { atTimes, type Fault } from "../fault.ts";
import { DRAINED } from "../vms.ts";

export const peopleUncordon: Fault = {
  says: "the drain is broken off, the node is uncordoned, and the drain begins again",
  weight: 4,
  inject: (run, draw) =>
    atTimes(run, draw, [1, 3], async () => {
      const wasThere = run.drain.breakOff(draw.int(50, 1500));
      if (draw.chance(0.6)) {
        const body = { spec: { unschedulable: null } };
        await run.client.patch(nodes, { name: run.nodeOf(DRAINED) }, { type: "merge", body });
      }
      return wasThere;
    }),
};
