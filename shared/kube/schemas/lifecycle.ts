/** The Eviction of `lifecycle.k8s.io/v1alpha1`, which Kubernetes makes of EvictionRequests, as facts. Upstream: KEP-4563, alpha in 1.37. */
import * as z from "zod/mini";
import type { EvictionFacts } from "../facts.ts";
import { RESPONDER } from "../names.ts";
import { identityOf, kind, listOf, Meta, part, Text } from "./fields.ts";

const Named = { name: z.string() };

export const Eviction = kind(
  () => ({
    metadata: Meta,
    spec: z.object({ target: z.object({ pod: z.optional(z.object({ ...Named, uid: z.string() })) }) }),
    status: part({
      requesters: listOf(z.object({ ...Named, intent: Text })),
      targetResponders: listOf(z.object({ ...Named, state: Text })),
      responders: listOf(
        z.object({ ...Named, startTime: Text, heartbeatTime: Text, completionTime: Text, message: Text }),
      ),
    }),
  }),
  ({ metadata, spec: { target }, status: { requesters, targetResponders, responders } }): EvictionFacts => {
    const at = responders.findIndex(({ name }) => name === RESPONDER);
    const { namespace, name, uid } = identityOf(metadata);
    return {
      namespace,
      name,
      uid,
      pod: target.pod,
      requesters: requesters.filter(({ intent }) => intent !== "Withdrawn").map((one) => one.name),
      state: targetResponders.find((one) => one.name === RESPONDER)?.state,
      at,
      report: responders[at],
    };
  },
);
