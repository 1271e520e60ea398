/** What a verdict on a node does not rest on: what could not be read, and what is not judged. */
import { keyOf } from "../facts.ts";
import type { PreflightFacts, PreflightPod } from "./facts.ts";
import { quotaFinding } from "./quotas.ts";
import type { Held } from "./replacements.ts";
import type { PodVerdict } from "./result.ts";
import { hangingIn } from "./terminating.ts";

export interface Judged {
  readonly pod: PreflightPod;
  readonly verdict: PodVerdict;
}

export interface Found {
  readonly judged: readonly Judged[];
  /** Launcher pods of VMs that are to move. */
  readonly moving: readonly PreflightPod[];
  /** With room. */
  readonly pods: readonly PodVerdict[];
  /** By UID. */
  readonly held: ReadonlyMap<string, Held>;
}

export function unknownOf({ judged, moving, pods, held }: Found, f: PreflightFacts): readonly string[] {
  const unchecked = moving.flatMap((pod) =>
    pod.unchecked.map((field) => `${field} of pod ${keyOf(pod)}: not looked at`),
  );
  const quotas = new Set(moving.flatMap((pod) => quotaFinding(pod, f).unknown));
  const others = [...otherCpus(pods, f), ...unreplaced(judged, held), ...lingering(judged, f)];
  return [...f.unread, ...unchecked, ...quotas, ...others];
}

function unreplaced(judged: readonly Judged[], held: ReadonlyMap<string, Held>): readonly string[] {
  return judged.flatMap(({ pod }) => {
    const { budget, room } = held.get(pod.uid) ?? {};
    if (budget === undefined || room !== undefined) return [];
    return [`when pod ${keyOf(pod)} goes: PodDisruptionBudget ${budget} waits for a pod that no controller replaces`];
  });
}

function otherCpus(pods: readonly PodVerdict[], { node }: PreflightFacts): readonly string[] {
  return pods.flatMap(({ namespace, vmi, room }) => {
    if (vmi === undefined || room?.otherCpu !== true) return [];
    const found = room.nodes === 1 ? "the node that has room" : `the ${room.nodes} nodes that have room`;
    return [`whether VM ${namespace}/${vmi} finds its CPU on ${found}: CPU labels differ from those of ${node.name}`];
  });
}

/** Pods that may never go, though nothing says so. */
function lingering(judged: readonly Judged[], f: PreflightFacts): readonly string[] {
  const leaving = judged.filter(({ verdict: { outcome } }) => outcome !== "Blocked" && outcome !== "Stays");
  const pods = leaving.flatMap(({ pod }) => {
    const message = hangingIn(pod, f)?.message;
    return message === undefined ? [] : [`when pod ${keyOf(pod)} goes: ${message}`];
  });
  const isDead = !f.node.ready && leaving.length > 0;
  return [...pods, ...(isDead ? [`when the pods of ${f.node.name} go: its kubelet is not ready, and ends none`] : [])];
}
