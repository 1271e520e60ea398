/** The CustomResourceDefinition asks for what the code accepts: every field, its bounds and its default. */
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { FEATURE_GATES, type Field, type Fields, LONGEST_SECONDS, SCHEMA } from "../../../shared/settings/settings.ts";
import { readManifests } from "../../support/manifests/shipped.ts";

const Json = z.record(z.string(), z.unknown());
const Definition = z.object({
  spec: z.object({
    versions: z.tuple([
      z.object({ schema: z.object({ openAPIV3Schema: z.object({ properties: z.object({ spec: Json }) }) }) }),
    ]),
  }),
});

function openApiOf(field: Field): object {
  switch (field.kind) {
    case "seconds":
      return { type: "number", minimum: 0, maximum: LONGEST_SECONDS, default: field.fallback };
    case "count":
      return { type: "integer", format: "int32", minimum: 1, default: field.fallback };
    case "oneOf":
      return { type: "string", enum: field.values, default: field.fallback };
    case "usernames":
      return {
        type: "array",
        "x-kubernetes-list-type": "set",
        ...(field.least > 0 && { minItems: field.least }),
        maxItems: 32,
        items: { type: "string", minLength: 1, maxLength: 253 },
        default: field.fallback,
      };
    case "section":
      return { type: "object", default: {}, properties: propertiesOf(field.fields) };
  }
}

function propertiesOf(fields: Fields): object {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [key, openApiOf(field)]));
}

/** Without words and rules, which have tests of their own. */
function bare(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) => key !== "x-kubernetes-validations" && !(key === "description" && typeof value === "string"),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, bare(value)]));
}

test("every field, as the schema of the settings has it", () => {
  const [definition] = readManifests("crds/lifeboatconfigurations.yaml");
  const { spec } = Definition.parse(definition).spec.versions[0].schema.openAPIV3Schema.properties;
  const featureGates = { type: "object", additionalProperties: { type: "boolean" }, maxProperties: 16 };
  expect(bare(spec)).toEqual({ type: "object", default: {}, properties: { featureGates, ...propertiesOf(SCHEMA) } });
  for (const gate of FEATURE_GATES) expect(JSON.stringify(spec)).toContain(`'${gate}'`);
});
