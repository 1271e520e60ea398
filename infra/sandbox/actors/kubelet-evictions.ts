/** Pods that a kubelet evicts by itself, without asking the API server. */
import { withCondition, type Condition } from "./conditions.ts";
import { DISRUPTION_TARGET } from "./disruption-target.ts";
import type { Pod } from "./resources.ts";

type PodStatus = NonNullable<Pod["status"]>;

export interface KubeletEvictions {
  begin(podUid: string, message: string): void;
  /** What the status of an ended pod says in addition if it was evicted. */
  explain(podUid: string, ended: PodStatus | undefined, now: string): PodStatus | undefined;
}

export function createKubeletEvictions(): KubeletEvictions {
  const messages = new Map<string, string>();
  return {
    begin: (podUid, message) => void messages.set(podUid, message),
    explain(podUid, ended, now) {
      const message = messages.get(podUid);
      if (message === undefined || ended === undefined) return ended;
      const target: Condition = { type: DISRUPTION_TARGET, status: "True", reason: "TerminationByKubelet", message };
      const conditions = withCondition<Condition>(ended.conditions, target, now) as NonNullable<
        PodStatus["conditions"]
      >;
      return { ...ended, phase: "Failed", reason: "Evicted", message, conditions };
    },
  };
}
