/** Evaluates matchConditions: CEL expressions that select the requests for a webhook or policy. */
import type { ResourceContext } from "../context.ts";
import type { Values } from "../cel/language.ts";
import { evaluate, valuesOf } from "./cel.ts";
import { type AdmissionRequest, forbid } from "./review.ts";
import type { Webhook } from "./webhook-client.ts";

/**
 * Returns true if all conditions are true, and false if any condition is false. Otherwise returns the evaluation errors
 * as text.
 */
export function judgeConditions(conditions: Webhook["matchConditions"] = [], values: Values): boolean | string {
  const errors: string[] = [];
  for (const { expression } of conditions) {
    try {
      if (evaluate(expression, values) !== true) return false;
    } catch (error) {
      errors.push(error instanceof Error ? error.message : "");
    }
  }
  return errors.length === 0 || (errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`);
}

export function conditionsHold(ctx: ResourceContext, webhook: Webhook, request: AdmissionRequest): boolean {
  if (webhook.matchConditions === undefined) return true;
  const outcome = judgeConditions(webhook.matchConditions, valuesOf(ctx, request));
  if (typeof outcome === "boolean") return outcome;
  if (webhook.failurePolicy === "Ignore") return false;
  return forbid(ctx, request.object, outcome);
}
