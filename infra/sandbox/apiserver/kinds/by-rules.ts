/**
 * Built-in kinds whose defaults and rules are data: rules.yaml.
 * Owns: reading that file. Does not own: what a schema means (schema/).
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { load } from "js-yaml";
import { viewAs } from "../objects.ts";
import { applySchemaDefaults, type Structural } from "../schema/structural.ts";
import { validateBySchema } from "../schema/validation.ts";
import type { ResourceKind } from "./kind.ts";

const RULES = viewAs<Readonly<Record<string, Structural>>>(
  load(readFileSync(new URL("rules.yaml", import.meta.url), "utf8")),
);

export function byRules(kind: string): Pick<ResourceKind, "applyDefaults" | "validate"> {
  const schema = RULES[kind] ?? {};
  return {
    applyDefaults: (object) => applySchemaDefaults(object, schema),
    validate: (object, previous) => {
      const errors = validateBySchema(viewAs(withoutEmpty(object)), schema, previous);
      return errors.filter(({ field }) => field !== "<nil>");
    },
  };
}

/** Go does not tell an empty list from none. */
function withoutEmpty(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object, (_, value: unknown) => (isDeepStrictEqual(value, []) ? undefined : value)));
}
