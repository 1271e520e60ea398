/** Asking the eviction API to let a pod go. */
import type { NamespacedName } from "./facts.ts";
import type { Answer, Client } from "./client.ts";

/** Refused by a webhook or a policy, by a budget or a webhook, and where a webhook cannot be asked or two budgets select the pod. */
const REFUSALS = [403, 429, 500];

/** A refusal is an answer, too. */
export type EvictionAnswer = Pick<Answer, "code" | "message">;

export interface EvictionOptions {
  readonly annotations?: Readonly<Record<string, string>>;
  /** Without one the pod's own counts. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Asks every webhook and budget, and changes nothing. */
  readonly dryRun?: boolean;
}

/** The UID protects another pod that was created under the same name. */
export async function requestEviction(
  { namespace, name, uid }: NamespacedName & { readonly uid: string },
  { annotations = {}, gracePeriodSeconds, dryRun = false }: EvictionOptions,
  cluster: Client,
): Promise<Answer> {
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name, annotations },
    deleteOptions: { preconditions: { uid }, gracePeriodSeconds },
  };
  // The dry run is not of the deletion only: each webhook then sees that it is one.
  return await cluster.create("pods", eviction, { subresource: "eviction", dryRun, expect: REFUSALS });
}
