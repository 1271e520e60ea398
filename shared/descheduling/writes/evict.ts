/** Asking the eviction API to let a pod go. */
import * as z from "zod/mini";
import { object } from "../../cluster/paths.ts";
import { parseAnswer } from "../../cluster/read.ts";
import type { Send } from "../../cluster/transport.ts";
import { DESCHEDULER, REASON_ANNOTATION, REQUESTED_BY_ANNOTATION } from "../../policy/names.ts";
import type { EvictionAnswer } from "../cycle/eviction-answer.ts";
import type { Nominated } from "../cycle/nominations.ts";

/** What an API server answers that understands the question: granted, gone, conflict, refused by budget or webhook. */
const ANSWERS = [403, 404, 409, 422, 429, 500];
const Status = z.lazy(() => z.object({ message: z._default(z.string(), "") }));

/** Which pod is asked for. The UID protects another pod that was created under the same name. */
export interface Evicted {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface EvictionOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  /** Without one the pod's own counts. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Asks every webhook and budget, and changes nothing. */
  readonly dryRun?: boolean;
}

/** In the descheduler's name and with its form of a reason, so that the webhook that reviews the eviction knows the cause. */
export async function evict(
  send: Send,
  { pod, profile, plugin, reason = "" }: Nominated,
  options: Omit<EvictionOptions, "annotations">,
): Promise<EvictionAnswer> {
  const annotations = {
    [REQUESTED_BY_ANNOTATION]: DESCHEDULER,
    [REASON_ANNOTATION]: `triggered by ${profile}/${plugin}: ${reason}`,
  };
  return await requestEviction(send, pod, { ...options, annotations });
}

export async function requestEviction(
  send: Send,
  { namespace, name, uid }: Evicted,
  { annotations, gracePeriodSeconds, dryRun = false }: EvictionOptions = {},
): Promise<EvictionAnswer> {
  const path = `${object("pods", { namespace, name })}/eviction`;
  const { code, body } = await send({
    method: "POST",
    path,
    // Not of the deletion only: each webhook is then told that it is one.
    ...(dryRun && { query: { dryRun: "All" } }),
    body: {
      apiVersion: "policy/v1",
      kind: "Eviction",
      metadata: { namespace, name, ...(annotations && { annotations }) },
      deleteOptions: { preconditions: { uid }, ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }) },
    },
    expect: ANSWERS,
  });
  return { code, message: code < 300 ? "" : parseAnswer(Status, body, `POST ${path}`).message };
}
