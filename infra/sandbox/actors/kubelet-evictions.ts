/** Records which pods a kubelet has ended by itself, in a node-pressure eviction or in a node shutdown. */
import { withCondition, type Condition } from "./conditions.ts";
import { DISRUPTION_TARGET } from "./disruption-target.ts";
import type { Pod } from "./resources.ts";

type PodStatus = NonNullable<Pod["status"]>;

interface Why {
  readonly reason: "Evicted" | "Terminated";
  readonly message: string;
}

export interface KubeletEvictions {
  begin(podUid: string, why: Why): void;
  has(podUid: string): boolean;
  /** Returns the status of an ended pod. If the kubelet ended the pod, the status has a condition and a reason. */
  explain(podUid: string, ended: PodStatus | undefined, now: string): PodStatus | undefined;
}

export function createKubeletEvictions(): KubeletEvictions {
  const known = new Map<string, Why>();
  return {
    begin: (podUid, why) => void known.set(podUid, why),
    has: (podUid) => known.has(podUid),
    explain(podUid, ended, now) {
      const why = known.get(podUid);
      if (why === undefined || ended === undefined) return ended;
      const { message } = why;
      const target: Condition = { type: DISRUPTION_TARGET, status: "True", reason: "TerminationByKubelet", message };
      const conditions = withCondition<Condition>(ended.conditions, target, now) as NonNullable<
        PodStatus["conditions"]
      >;
      // If every container exited with 0, the pod has the condition, but no `status.reason` and no `status.message`.
      return { ...ended, ...(ended.phase === "Failed" && why), conditions };
    },
  };
}
