/** Launcher and hotplug pods that are disrupted or deleted. */
import * as z from "zod/mini";
import { COMPONENT_LABEL, HOTPLUG_COMPONENT, LAUNCHER_COMPONENT } from "../../../shared/policy/names.ts";
import { Conditions, identityOf, Metadata, Text, type WatchedKind } from "./kind.ts";

export interface PodFacts {
  readonly node: string | undefined;
  /** `DisruptionTarget` is True: its reason and time. A pod may be disrupted a second time. */
  readonly disruption: string | undefined;
  readonly deleting: boolean;
  /** Its containers have ended: there is no guest any more. */
  readonly completed: boolean;
}

const Pod = z.object({
  metadata: Metadata,
  spec: z.object({ nodeName: Text }),
  status: z.prefault(z.object({ phase: Text, conditions: Conditions }), {}),
});

export const PODS: WatchedKind<PodFacts> = {
  name: "pods",
  path: "/api/v1/pods",
  labelSelector: `${COMPONENT_LABEL} in (${LAUNCHER_COMPONENT}, ${HOTPLUG_COMPONENT})`,
  read: (object) => {
    const { metadata, spec, status } = Pod.parse(object);
    const target = status.conditions.find(({ type }) => type === "DisruptionTarget");
    const facts = {
      node: spec.nodeName,
      disruption: target?.status === "True" ? [target.reason, target.lastTransitionTime].join(" ") : undefined,
      deleting: metadata.deletionTimestamp !== undefined,
      completed: status.phase === "Succeeded" || status.phase === "Failed",
    };
    return { metadata: identityOf(metadata), facts };
  },
  notice: ({ object, facts, before, gone }) => {
    if (gone || !isDisruption(facts, before)) return undefined;
    const { namespace = "", name, uid } = object;
    const node = facts.node === undefined ? {} : { node: facts.node };
    return { type: "dev.lifeboat.pod.disrupted.v1", data: { namespace, name, uid, ...node } };
  },
};

/** First sight of a condition that is True, or of a deletion. */
function isDisruption(facts: PodFacts, before: PodFacts | undefined): boolean {
  if (facts.completed) return false;
  const disrupted = facts.disruption !== undefined && facts.disruption !== before?.disruption;
  return disrupted || (facts.deleting && before?.deleting !== true);
}
