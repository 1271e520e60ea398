/**
 * matchConditions: CEL expressions that say whether a webhook wants to hear of a request.
 * Owns: what a result or an error of one means. Does not own: evaluating them (cel.ts).
 */
import { type ResourceContext, resourceOf } from "../context.ts";
import { fail } from "../status.ts";
import { compile, wordsOf } from "./cel.ts";
import { type AdmissionRequest, nameInRefusal } from "./review.ts";
import type { Webhook } from "./webhook-client.ts";

/** Any false condition decides; only if there is none does an error matter, and then as the failure policy says. */
export function conditionsHold(ctx: ResourceContext, webhook: Webhook, request: AdmissionRequest): boolean {
  const errors: string[] = [];
  const { object, oldObject } = request;
  for (const { expression } of webhook.matchConditions ?? []) {
    try {
      if (compile(expression)({ object, oldObject, request }) !== true) return false;
    } catch (error) {
      errors.push(`expression '${expression}' resulted in error: ${wordsOf(error)}`);
    }
  }
  if (errors.length === 0) return true;
  if (webhook.failurePolicy === "Ignore") return false;
  const message = errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`;
  return fail({
    reason: "Forbidden",
    resource: resourceOf(ctx.kind),
    name: nameInRefusal(ctx, request.object),
    message,
  });
}
