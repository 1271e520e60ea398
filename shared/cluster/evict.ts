/** Asking the eviction API to let a pod go. */
import * as z from "zod/mini";
import type { NamespacedName } from "../policy/facts.ts";
import { object } from "./paths.ts";
import { parseAnswer } from "./read.ts";
import type { Send } from "./transport.ts";

/** What an API server answers that understands the question: granted, gone, conflict, refused by budget or webhook. */
const ANSWERS = [403, 404, 409, 422, 429, 500];
const Status = z.lazy(() => z.object({ message: z._default(z.string(), "") }));

/** A refusal is an answer, too. */
export interface EvictionAnswer {
  readonly code: number;
  /** The Status's. Never passed on to a caller. */
  readonly message: string;
}

export interface EvictionOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  /** Without one the pod's own counts. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Asks every webhook and budget, and changes nothing. */
  readonly dryRun?: boolean;
}

/** The UID protects another pod that was created under the same name. */
export async function requestEviction(
  send: Send,
  { namespace, name, uid }: NamespacedName & { readonly uid: string },
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
