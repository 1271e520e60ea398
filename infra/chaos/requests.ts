/**
 * How many VMs of a node descheduling moves at a time, and which ever, told by the annotations on their pods.
 * Owns: counting them with every change. Does not own: watching (observer.ts), the policy (descheduler-policy.ts), whether
 * there were any to move (goal.ts).
 */
import { keyOf, type Pod } from "../sandbox/actors/resources.ts";
import { isFinal } from "../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";
import { WIRE } from "./wire.ts";

export interface RequestCheckOptions {
  /** Nothing but descheduling moves anything off it. */
  readonly node: string;
  readonly allowed: number;
  readonly report: (what: string) => void;
}

export interface RequestCheck extends Pick<Listener, "podChanged"> {
  /** UIDs of pods that descheduling has asked for, whatever became of that. */
  readonly asked: ReadonlySet<string>;
}

export function createRequestCheck({ node, allowed, report }: RequestCheckOptions): RequestCheck {
  const asked = new Set<string>();
  const leaving = new Map<string, string>();
  const look = (pod: Pod): void => {
    const { uid } = pod.metadata;
    if (isAskedFor(pod)) asked.add(uid);
    if (!isLeaving(pod)) return void leaving.delete(uid);
    const known = leaving.size;
    leaving.set(uid, keyOf(pod));
    if (leaving.size <= allowed || leaving.size === known) return;
    report(
      `${leaving.size} pods of ${node} are being descheduled, ${allowed} allowed: ${[...leaving.values()].join(", ")}`,
    );
  };

  return {
    asked,
    podChanged(now, before) {
      if (before !== undefined && before.metadata.uid !== now?.metadata.uid) leaving.delete(before.metadata.uid);
      if (now?.spec?.nodeName === node) look(now);
    },
  };
}

function isAskedFor({ metadata }: Pod): boolean {
  return metadata.annotations?.[WIRE.requested] !== undefined;
}

function isLeaving(pod: Pod): boolean {
  const { annotations = {}, deletionTimestamp } = pod.metadata;
  const underWay = isAskedFor(pod) || WIRE.inProgress in annotations;
  return underWay && !isFinal(pod.status) && deletionTimestamp === undefined;
}
