/**
 * matchConditions: CEL expressions that say whether a webhook wants to hear of a request.
 * Owns: the variables they see, what an error in one means. Does not own: CEL (@marcbachmann/cel-js).
 */
import { Environment } from "@marcbachmann/cel-js";
import { type ResourceContext, resourceOf } from "../context.ts";
import { fail } from "../status.ts";
import { type AdmissionRequest, nameInRefusal } from "./review.ts";
import type { Webhook } from "./webhook-client.ts";

const environment = new Environment({ enableOptionalTypes: true })
  .registerVariable("object", "dyn")
  .registerVariable("oldObject", "dyn")
  .registerVariable("request", "dyn");

type Program = (variables: Readonly<Record<string, unknown>>) => unknown;

const programs = new Map<string, Program>();

/** Any false condition decides; only if there is none does an error matter, and then as the failure policy says. */
export function conditionsHold(ctx: ResourceContext, webhook: Webhook, request: AdmissionRequest): boolean {
  const errors: string[] = [];
  for (const { expression } of webhook.matchConditions ?? []) {
    try {
      if (evaluate(expression, request) !== true) return false;
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

function evaluate(expression: string, request: AdmissionRequest): unknown {
  let program = programs.get(expression);
  if (program === undefined) {
    program = environment.parse(expression) as Program;
    programs.set(expression, program);
  }
  return program({ object: request.object, oldObject: request.oldObject, request });
}

/** cel-go's words where they differ; without the picture of the source that the library adds. */
function wordsOf(error: unknown): string {
  const [line = ""] = error instanceof Error ? error.message.split("\n") : [];
  return line.replace(/^No such key/, "no such key");
}
