/** CEL expressions as admission configurations use them. */
import { decide } from "../authorization.ts";
import { Authorizer } from "../cel/authorizer.ts";
import { Language, type Values, wordsOf } from "../cel/language.ts";
import type { RequestContext } from "../context.ts";
import { INT_OR_STRING, type Structural } from "../schema/structural.ts";
import type { AdmissionRequest } from "./review.ts";

const text = { type: "string" };
const texts = { type: "array", items: text };
const map = (values: Structural): Structural => ({ type: "object", additionalProperties: values });
const struct = (properties: Structural): Structural => ({ type: "object", properties });
const kind = struct({ group: text, version: text, kind: text });
const resource = struct({ group: text, version: text, resource: text });

/** `object` and `oldObject` are separate variables. */
// prettier-ignore
const REQUEST = struct({
  kind, requestKind: kind, resource, requestResource: resource, subResource: text, requestSubResource: text, name: text,
  namespace: text, operation: text, dryRun: { type: "boolean" }, options: { [INT_OR_STRING]: true },
  userInfo: struct({ username: text, uid: text, groups: texts, extra: map(texts) }),
});

const NAMESPACE = struct({
  metadata: struct({ name: text, labels: map(text), annotations: map(text), finalizers: texts }),
  status: struct({ phase: text }),
});

/** A schema of the object makes its fields known. */
export function languageOf(object?: Structural): Language {
  const language = new Language().declare(object, "object", "oldObject").declare(undefined, "variables");
  return language.declare(REQUEST, "request").declare(NAMESPACE, "namespaceObject").declareAuthorizer();
}

const LANGUAGE = languageOf();

export function valuesOf(ctx: RequestContext, request: AdmissionRequest, namespaceObject: unknown = null): Values {
  const { object, oldObject } = request;
  const authorizer = new Authorizer((asked) => decide(ctx.state, ctx.user, { isResource: true, ...asked }));
  return { ...LANGUAGE.valuesOf({ object, oldObject, request, namespaceObject }), authorizer };
}

/** Throws an error in the words of an admission error. */
export function evaluate(expression: string, values: Values): unknown {
  try {
    return LANGUAGE.run(expression, values);
  } catch (error) {
    throw new Error(`expression '${expression}' resulted in error: ${wordsOf(error)}`, { cause: error });
  }
}

/** undefined: no error. */
export function problemWith(expression: string, ...types: readonly string[]): string | undefined {
  return LANGUAGE.problem(expression, ...types);
}
