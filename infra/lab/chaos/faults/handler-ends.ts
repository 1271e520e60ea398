/** Fault: a NoExecute taint evicts the virt-handler of a node other than the drained node. */
import { atTimes, type Fault, setTaints, waited } from "../fault.ts";
import { movableVms } from "../vms.ts";

const PLACE = "handler-ends";
/** virt-handler does not tolerate this taint (see cluster.ts). */
const TAINT = { key: "quarantine", value: "now", effect: "NoExecute" };

/** A taint evicts virt-handler from the node. The node's VMs may stay: without virt-handler, no VM can migrate. */
export const handlerEnds: Fault = {
  says: "a NoExecute taint evicts virt-handler from a node other than the drained node, until the taint is removed",
  simulated: true,
  gate: "NoExecuteTaintEvictionLiveMigration",
  vms: (draw) => movableVms(draw, PLACE, { mustLeave: false }),
  inject: (run, draw) =>
    atTimes(run, draw, [1, 3], async () => {
      await setTaints(run, PLACE, [TAINT]);
      await waited(run, draw.int(100, 2500));
      await setTaints(run, PLACE, []);
    }),
  undo: (run) => setTaints(run, PLACE, []),
};
