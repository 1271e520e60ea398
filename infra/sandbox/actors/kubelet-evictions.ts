/** Pods that a kubelet ends by itself, without asking the API server: by eviction, or because its node shuts down. */
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
  /** Returns the status of an ended pod. If the kubelet ended the pod, adds the condition and the reason. */
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
      // A real kubelet computes the phase anew from the containers. If each container ended with 0, only the
      // condition remains.
      return { ...ended, ...(ended.phase === "Failed" && why), conditions };
    },
  };
}
