import { type Fault, type Run, waited } from "../fault.ts";

/** A target of migrations: what is to start there waits until the machine is back. */
export const nodeDies: Fault = {
  says: "the machine of a target node is off for a while",
  weight: 4,
  async inject(run, draw) {
    if (!(await waited(run, draw.int(0, run.plan.calmMs)))) return;
    run.cluster.sandbox.kubelets.stop(targetOf(run));
    run.strike();
    await waited(run, draw.int(200, 2500));
    start(run);
  },
  undo: start,
};

function targetOf({ nodeOf }: Run): string {
  return nodeOf("target-a");
}

function start(run: Run): void {
  run.cluster.sandbox.kubelets.start(targetOf(run));
}
