/** Fault: another node gets and loses a NoExecute taint several times. */
import { atTimes, type Fault, setTaints, waited } from "../fault.ts";
import { movableVms } from "../vms.ts";
import { TAINT } from "./no-execute-taint.ts";

const PLACE = "taint-comes-and-goes";

/** A taint is set and removed again. A VM that is still on the node when the taint is removed may stay. */
export const taintComesAndGoes: Fault = {
  says: "a node other than the drained node gets and loses a NoExecute taint several times",
  gate: "NoExecuteTaintEvictionLiveMigration",
  vms: (draw) => movableVms(draw, PLACE, { mustLeave: false }),
  inject: (run, draw) =>
    atTimes(run, draw, [2, 6], async () => {
      await setTaints(run, PLACE, [TAINT]);
      await waited(run, draw.int(0, draw.pick([20, 300, 1500])));
      await setTaints(run, PLACE, []);
    }),
  undo: (run) => setTaints(run, PLACE, []),
};
