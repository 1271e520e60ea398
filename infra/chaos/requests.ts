/**
 * How many VMs of a node descheduling moves at a time, told by the annotations on their pods.
 * Owns: counting them with every change. Does not own: watching (observer.ts), the policy (descheduler-policy.ts).
 */
import { EVACUATION_REQUESTED_ANNOTATION, EVICTION_IN_PROGRESS_ANNOTATION } from "../../shared/policy/names.ts";
import { keyOf, type Pod } from "../sandbox/actors/resources.ts";
import { isFinal } from "../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";

export interface RequestCheckOptions {
  /** Nothing but descheduling moves anything off it. */
  readonly node: string;
  readonly allowed: number;
  readonly report: (what: string) => void;
}

export function createRequestCheck({ node, allowed, report }: RequestCheckOptions): Pick<Listener, "podChanged"> {
  const leaving = new Map<string, string>();
  return {
    podChanged(now, before) {
      if (before !== undefined && before.metadata.uid !== now?.metadata.uid) leaving.delete(before.metadata.uid);
      if (now === undefined) return;
      if (!isLeaving(now, node)) return void leaving.delete(now.metadata.uid);
      const known = leaving.size;
      leaving.set(now.metadata.uid, keyOf(now));
      if (leaving.size <= allowed || leaving.size === known) return;
      report(
        `${leaving.size} pods of ${node} are being descheduled, ${allowed} allowed: ${[...leaving.values()].join(", ")}`,
      );
    },
  };
}

function isLeaving({ metadata, spec, status }: Pod, node: string): boolean {
  const { annotations = {}, deletionTimestamp } = metadata;
  const asked = EVACUATION_REQUESTED_ANNOTATION in annotations || EVICTION_IN_PROGRESS_ANNOTATION in annotations;
  return asked && spec?.nodeName === node && !isFinal(status) && deletionTimestamp === undefined;
}
