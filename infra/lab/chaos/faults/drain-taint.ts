/** Fault: the drained node also gets the taint that KubeVirt uses for drains. */
import { atTimes, type Fault, setTaints } from "../fault.ts";
import { DRAINED } from "../vms.ts";

const TAINT = { key: "kubevirt.io/drain", value: "draining", effect: "NoSchedule" };

export const drainTaint: Fault = {
  says: "the drained node also has KubeVirt's drain taint",
  lasts: true,
  inject: (run, draw) => atTimes(run, draw, [1, 1], () => setTaints(run, DRAINED, [TAINT])),
  undo: (run) => setTaints(run, DRAINED, []),
};
