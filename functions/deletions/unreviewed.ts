/**
 * Deletions whose review could not be begun: no cluster can be asked, because of its configuration or of a defect of ours.
 * Owns: answering them from the request alone. Does not own: for how long (shared/policy/guard/deletion.ts).
 *
 * Any 5xx would let the pod go: the API server takes it for a webhook that fails. (Of evictions nothing is known then, and a
 * 5xx is the answer: shared/policy/blind.ts.)
 */
import type { Context } from "hono";
import * as review from "../admission-review.ts";
import { answerDeletion } from "./deletions.ts";
import type { Platform } from "../env.ts";
import { blindDecision, patienceOf } from "./hold-deletion.ts";
import { RejectionError } from "../rejection.ts";

export interface Unreviewed {
  readonly platform: Platform;
  /** Since when the API server waits. */
  readonly arrived: Date;
  readonly error: unknown;
}

/** Held until the deadline that the request itself shows, without a look. */
export async function holdDeletion(c: Context, unreviewed: Unreviewed): Promise<Response> {
  const { platform, arrived } = unreviewed;
  const patience = patienceOf(review.timeoutSeconds(c.req.query("timeout")), arrived);
  return await answerDeletion(c, async (request, dryRun) => {
    const asked = { ...request, ...patience };
    const decision = blindDecision(asked, whyOf(unreviewed), undefined, platform.now());
    if (decision.verdict === "Hold" && !dryRun) await platform.sleep(decision.holdSeconds * 1000);
    return decision;
  });
}

function whyOf({ platform, error }: Unreviewed): string {
  if (error instanceof RejectionError && error.rejection.reason === "InvalidConfiguration") {
    const { field, message } = error.rejection;
    return `${field}: ${message}`;
  }
  const stack = error instanceof Error ? error.stack : undefined;
  platform.log({ level: "error", message: "unexpected error", error: stack });
  return "an unexpected error";
}
