/** Evacuations for a taint that the node does not carry any more. */
import { byAge, podUIDOf } from "./identity.ts";
import { isMarked } from "./mark.ts";
import type { LivePair } from "./world.ts";
import { carriesDrainTaint, drivingTaint, isAlive } from "../kube/taints.ts";

/** Why the taint that the VM had to leave for is gone; undefined if it is not, or if the node was not read. */
export function taintGone({ e, vmi, w }: LivePair): string | undefined {
  const node = w.nodes.find(({ name }) => name === vmi.nodeName);
  if (node === undefined) return undefined;
  switch (e.spec.cause) {
    case "DrainTaint": {
      const isDriven = isMarked(vmi) || carriesDrainTaint(node, w.settings);
      return isDriven ? undefined : `node ${node.name} does not carry the drain taint any more`;
    }
    case "NoExecuteTaint": {
      const pod = w.pods.find(({ namespace, uid }) => namespace === vmi.namespace && uid === podUIDOf(e));
      const isDriven = pod === undefined || !isAlive(node) || drivingTaint(node, pod) !== undefined;
      return isDriven ? undefined : `the NoExecute taint of node ${node.name} is gone`;
    }
    case "ApiEviction":
    case "Descheduler":
    case "Preemption":
    case "NodePressure":
    case "Operator":
    case "NodeTermination":
      return undefined;
  }
}

/** By another cause, whose Evacuation has ended as this one's Duplicate. */
export function isWantedBesides({ e, w }: LivePair): boolean {
  return w.evacuations.some((other) => {
    const isDuplicate = other.status.phase === "Duplicate" && podUIDOf(other) === podUIDOf(e) && byAge(e, other) < 0;
    return isDuplicate && other.namespace === e.namespace && other.spec.cause !== e.spec.cause;
  });
}
