/** Evacuations that have not ended: those that a person creates or cancels. The status does not: Lifeboat itself writes it. */
import * as z from "zod/mini";
import { END_PHASES } from "../../../shared/policy/evacuation/phase.ts";
import { identityOf, Metadata, Text, type WatchedKind } from "./kind.ts";

export interface EvacuationFacts {
  readonly vmi: string;
  /** Lifeboat has looked at it. */
  readonly begun: boolean;
  readonly withdrawn: boolean;
}

const Evacuation = z.object({
  metadata: Metadata,
  spec: z.object({ virtualMachineInstance: z.object({ name: z.string() }), intent: Text }),
  status: z.prefault(z.object({ phase: Text }), {}),
});

export const EVACUATIONS: WatchedKind<EvacuationFacts> = {
  name: "evacuations",
  path: "/apis/lifeboat.dev/v1alpha1/evacuations",
  // Ended ones are history: to the relay an Evacuation that ends is gone.
  fieldSelector: END_PHASES.map((phase) => `status.phase!=${phase}`).join(","),
  read: (object) => {
    const { metadata, spec, status } = Evacuation.parse(object);
    const facts = {
      vmi: spec.virtualMachineInstance.name,
      begun: status.phase !== undefined,
      withdrawn: spec.intent === "Withdrawn",
    };
    return { metadata: identityOf(metadata), facts };
  },
  notice: ({ object, facts, before, gone }) => {
    const isNew = before === undefined && !facts.begun;
    const isWithdrawn = facts.withdrawn && before?.withdrawn !== true;
    if (gone || !(isNew || isWithdrawn)) return undefined;
    const data = { namespace: object.namespace ?? "", name: facts.vmi, evacuation: object.name };
    return { type: "dev.lifeboat.evacuation.changed.v1", data };
  },
};
