import { createPod, pods } from "../../../sandbox/index.ts";
import { type Fault, waited } from "../fault.ts";
import { movableVms, PRIORITY_CLASS } from "../vms.ts";
import { persist } from "../wait.ts";

const PLACE = "preemption";
const POD = { name: "preemptor", priorityClassName: PRIORITY_CLASS, requests: { memory: "3584Mi" } };

/** Its node has room for three small VMs and nothing else: the preemptor needs some of it, not all. */
export const preemption: Fault = {
  says: "a pod of high priority takes the place of VMs on another node",
  weight: 4,
  gate: "PreemptionEvictionLiveMigration",
  deletes: true,
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
  expect({ cluster, namespace }) {
    const phase = cluster.observer.pods.get(`${namespace}/${POD.name}`)?.status?.phase;
    return phase === "Running" ? [] : ["the preemptor does not run"];
  },
};
