/** Fault: Karpenter terminates a node other than the drained node, and deletes the pods of its VMs. */
import { type Actor, systemClock, terminateNode, USERS } from "../../../sandbox/index.ts";
import { type Fault, type Run, waited } from "../fault.ts";
import { movableVms } from "../vms.ts";

const PLACE = "node-ends";
/** The time until the node is terminated. It is longer than any run. */
const NODE_ENDS_AFTER_MS = 3_600_000;
const terminations = new WeakMap<Run, Actor>();

export const nodeEnds: Fault = {
  says: "Karpenter terminates a node other than the drained node, and deletes the pods of its VMs",
  gate: "NodeTerminationEvictionLiveMigration",
  lasts: true,
  // Karpenter deletes a pod once the node's remaining time is shorter than the pod's grace period: here, at once.
  vms: (draw) => movableVms(draw, PLACE, { graceSeconds: 7200 }),
  async inject(run, draw) {
    await waited(run, draw.int(0, 1000));
    const client = run.client.as(USERS.karpenter.user, USERS.karpenter.groups);
    const endsAt = new Date(Date.now() + NODE_ENDS_AFTER_MS);
    terminations.set(run, terminateNode({ client, clock: systemClock, node: run.nodeOf(PLACE), endsAt }));
    run.strike();
  },
  undo: async (run) => await terminations.get(run)?.stop(),
};
