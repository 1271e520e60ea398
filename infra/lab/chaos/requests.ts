/**
 * How many VMs of a node descheduling moves at a time, told by the annotations on their pods, and which it has ever asked for, told by
 * Evacuations.
 */
import { keyOf, type Pod } from "../../sandbox/actors/resources.ts";
import { isFinal } from "../../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";
import { WIRE } from "./wire.ts";

export interface RequestCheckOptions {
  /** Nothing but descheduling moves anything off it. */
  readonly node: string;
  readonly allowed: number;
  readonly report: (what: string) => void;
}

export interface RequestCheck extends Pick<Listener, "podChanged" | "evacuationChanged"> {
  /** UIDs of Evacuations that descheduling has asked for, whatever became of them. */
  readonly asked: ReadonlySet<string>;
}

export function createRequestCheck({ node, allowed, report }: RequestCheckOptions): RequestCheck {
  const asked = new Set<string>();
  const leaving = new Map<string, string>();
  const look = (pod: Pod): void => {
    const { uid } = pod.metadata;
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
    evacuationChanged(now) {
      if (now?.spec.cause === "Descheduler") asked.add(now.metadata.uid);
    },
    podChanged(now, before) {
      if (before !== undefined && before.metadata.uid !== now?.metadata.uid) leaving.delete(before.metadata.uid);
      if (now?.spec?.nodeName === node) look(now);
    },
  };
}

function isLeaving(pod: Pod): boolean {
  const { annotations = {}, deletionTimestamp } = pod.metadata;
  return WIRE.inProgress in annotations && !isFinal(pod.status) && deletionTimestamp === undefined;
}
