/** Fault: a node other than the drained node gets a NoExecute taint. */
import { isFinal } from "../../../sandbox/index.ts";
import { type Fault, type Run, setTaints, waited } from "../fault.ts";
import { movableVms } from "../vms.ts";
import { until } from "../wait.ts";

const PLACE = "no-execute-taint";
export const TAINT = { key: "maintenance", value: "now", effect: "NoExecute" };
const MOST_REMINDERS = 30;
const TAKEN_UP_WITHIN_MS = 1000;

export const noExecuteTaint: Fault = {
  says: "a NoExecute taint drives VMs off a node other than the drained node",
  weight: 4,
  gate: "NoExecuteTaintEvictionLiveMigration",
  lasts: true,
  vms: (draw) => movableVms(draw, PLACE),
  async inject(run, draw) {
    await waited(run, draw.int(0, 1000));
    await setTaints(run, PLACE, [TAINT]);
    run.strike();
  },
  undo: (run) => setTaints(run, PLACE, []),
  /**
   * Removes the taint and sets it again, several times. The taint manager tries each deletion only five times, and can
   * miss a taint that exists only briefly.
   */
  async remind(run) {
    for (let times = 0; times < MOST_REMINDERS && isForgotten(run); times++) {
      await setTaints(run, PLACE, []);
      await setTaints(run, PLACE, [TAINT]);
      await until(() => !isForgotten(run), TAKEN_UP_WITHIN_MS);
    }
  },
};

function isForgotten({ cluster: { observer }, nodeOf }: Run): boolean {
  const evacuations = [...observer.evacuations.list()];
  return [...observer.vmis.list()].some(({ metadata: { name, namespace, deletionTimestamp }, status }) => {
    const isThere = status?.nodeName === nodeOf(PLACE) && deletionTimestamp === undefined && !isFinal(status);
    const isAsked = evacuations.some(
      ({ metadata, spec }) => metadata.namespace === namespace && spec.virtualMachineInstance.name === name,
    );
    return isThere && !isAsked;
  });
}
