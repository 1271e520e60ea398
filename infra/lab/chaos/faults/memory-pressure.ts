/** Fault: a node other than the drained node runs out of memory. */
import { type Fault, waited } from "../fault.ts";
import { movableVms } from "../vms.ts";

const PLACE = "memory-pressure";

/** The kubelet reports memory pressure of the node. It evicts no pod, because its grace period is longer than a run. */
export const memoryPressure: Fault = {
  says: "a node other than the drained node runs out of memory",
  gate: "NodePressureEvictionLiveMigration",
  lasts: true,
  vms: (draw) => movableVms(draw, PLACE),
  async inject(run, draw) {
    await waited(run, draw.int(0, 1000));
    run.cluster.sandbox.stats.setAvailable(run.nodeOf(PLACE), "memory.available", "1Gi");
    run.strike();
  },
  undo: ({ cluster, nodeOf }) => cluster.sandbox.stats.setAvailable(nodeOf(PLACE), "memory.available"),
};
