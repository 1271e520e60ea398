/**
 * Tests the messages about values that a schema refuses. A message contains the expected value, and never the given
 * value.
 */
import * as z from "zod/mini";
import { expect, test } from "vitest";
import { parseConfig } from "../../../shared/settings/problem.ts";

const Variants = z.discriminatedUnion("type", [
  z.object({ type: z.literal("a"), x: z.string() }),
  z.object({ type: z.literal("b") }),
]);

// prettier-ignore
test.each<[string, z.ZodMiniType, unknown, string, string]>([
  ["a missing key",                                z.object({ a: z.number() }),                   {},              "root.a",     "expected number"],
  ["another constant",                             z.literal("CREATE"),                           "secret",        "root",       "expected CREATE"],
  ["an unknown word",                              z.enum(["Hold", "Deny"]),                      "secret",        "root",       "expected Hold or Deny"],
  ["a number below the minimum",                   z.number().check(z.maximum(5)),                9,               "root",       "expected 5 or less"],
  ["a fraction for an integer",                    z.int(),                                       1.5,             "root",       "expected int"],
  ["a list below the minimum length",              z.array(z.string()).check(z.minLength(1)),     [],              "root",       "expected a length of 1 or more"],
  ["a text that does not match the pattern",       z.string().check(z.regex(/^a$/)),              "secret",        "root",       "expected another format (regex)"],
  ["an unknown variant",                           Variants,                                      { type: "c" },   "root.type",  "expected a or b"],
  ["a text that fails a condition",                z.string().check(z.refine(() => false)),       "secret",        "root",       "expected another value"],
  ["an unknown key",                               z.strictObject({}),                            { b: "secret" }, "root.b",     "unknown key"],
])("the problem of %s names the expected value", (_, schema, input, ...expected) => {
  const [field, message] = expected;
  expect(parseConfig(schema, input, "root")).toEqual({ ok: false, problems: [{ field, message }] });
});
