/**
 * Asking the eviction API to let a pod go.
 * Owns: the request, and the code and words of its answer. Does not own: whom to evict, what the answer means
 * (shared/policy/descheduling).
 */
import * as z from "zod/mini";
import type { EvictionAnswer } from "../cycle/eviction-answer.ts";
import type { NamespacedName } from "../../policy/facts.ts";
import { DESCHEDULER, REASON_ANNOTATION, REQUESTED_BY_ANNOTATION } from "../../policy/names.ts";
import { object } from "../../cluster/paths.ts";
import { parseAnswer } from "../../cluster/read.ts";
import type { Send } from "../../cluster/transport.ts";

export interface Eviction {
  readonly pod: NamespacedName & { readonly uid: string };
  /** Why, in the descheduler's form. */
  readonly reason: string;
  /** Absent: the pod's own. */
  readonly gracePeriodSeconds?: number;
}

/** What an API server answers who understands the question: granted, gone, conflict, refused by budget or webhook. */
const ANSWERS = [403, 404, 409, 422, 429, 500];
const Status = z.lazy(() => z.object({ message: z._default(z.string(), "") }));

/**
 * In the descheduler's name, so that the webhook that reviews the eviction knows the cause; of this very pod, not of one made anew
 * under its name.
 */
export async function evict({ pod, reason, gracePeriodSeconds }: Eviction, send: Send): Promise<EvictionAnswer> {
  const { namespace, name, uid } = pod;
  const path = `${object("pods", { namespace, name })}/eviction`;
  const { code, body } = await send({
    method: "POST",
    path,
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: {
        namespace,
        name,
        annotations: { [REQUESTED_BY_ANNOTATION]: DESCHEDULER, [REASON_ANNOTATION]: reason },
      },
      deleteOptions: { preconditions: { uid }, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) },
    },
    expect: ANSWERS,
  });
  return { code, message: code < 300 ? "" : parseAnswer(Status, body, `POST ${path}`).message };
}
