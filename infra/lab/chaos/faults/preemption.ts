/** Fault: a pod with a higher priority preempts VMs on another node. */
import { createPod, pods } from "../../../sandbox/index.ts";
import { type Fault, type Run, waited } from "../fault.ts";
import { movableVms, PRIORITY_CLASS } from "../vms.ts";
import { persist, until } from "../wait.ts";

const PLACE = "preemption";
const OTHER = "of-a-busy-cluster";
const MOST_REMINDERS = 10;
/** The maximum time until the preempting pod runs. It is longer than the scheduler's pause between two requests. */
const RUNS_WITHIN_MS = 20_000;
const POD = { name: "preemptor", priorityClassName: PRIORITY_CLASS, requests: { memory: "3584Mi" } };

/** A pod of high priority preempts some VMs of a node. The node has enough memory for three small VMs. */
export const preemption: Fault = {
  says: "a pod of high priority preempts VMs on a node other than the drained node",
  weight: 4,
  gate: "PreemptionEvictionLiveMigration",
  lasts: true,
  vms: (draw) => movableVms(draw, PLACE, { mustLeave: false }),
  capacity: { memory: "4Gi" },
  async inject(run, draw) {
    await waited(run, draw.int(0, 1000));
    const nodeSelector = { "kubernetes.io/hostname": run.nodeOf(PLACE) };
    await persist(() => createPod(run.client, { ...POD, namespace: run.namespace, nodeSelector }));
    run.strike();
  },
  undo: async ({ client, namespace }) => void (await persist(() => client.delete(pods, { namespace, name: POD.name }))),
  /**
   * Creates a pod on the node and deletes it, to wake the scheduler. The scheduler hangs if the last victim of a
   * preemption is gone before the scheduler deletes the victim (`prepareCandidateAsync`, 1.36).
   */
  async remind(run) {
    for (let times = 0; times < MOST_REMINDERS; times++) {
      if (await until(() => isRunning(run), RUNS_WITHIN_MS)) return;
      const { client, namespace } = run;
      const name = `${OTHER}-${times}`;
      await persist(() => createPod(client, { name, namespace, node: run.nodeOf(PLACE), graceSeconds: 0 }));
      await persist(() => client.delete(pods, { namespace, name }));
    }
  },
  expect: (run) => (isRunning(run) ? [] : ["the preemptor does not run"]),
};

function isRunning({ cluster, namespace }: Run): boolean {
  return cluster.observer.pods.get(`${namespace}/${POD.name}`)?.status?.phase === "Running";
}
