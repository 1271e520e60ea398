/**
 * A problem in a configuration, with the key and the expected value. It never contains the actual value, which can be a
 * secret.
 */
import * as z from "zod/mini";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

/** Replaces Zod's own messages, which can be long and contain the received value. */
z.config({ localeError: expectation });

function expectation(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return MESSAGES.expected(issue.expected);
    case "invalid_value":
      return MESSAGES.expected(anyOf(issue.values));
    case "invalid_union":
      return MESSAGES.expected(anyOf(issue.inclusive === false ? [] : issue.options));
    case "too_small":
      return MESSAGES.expected(`${measureOf(issue)}${issue.minimum} or more`);
    case "too_big":
      return MESSAGES.expected(`${measureOf(issue)}${issue.maximum} or less`);
    case "invalid_format":
      return MESSAGES.expected(`another format (${issue.format})`);
    case "unrecognized_keys":
    case "not_multiple_of":
    case "invalid_key":
    case "invalid_element":
    case "custom":
      return MESSAGES.expected(anyOf([]));
  }
}

function anyOf(values: readonly unknown[] = []): string {
  return values.length === 0 ? "another value" : values.join(" or ");
}

function measureOf({ origin }: { readonly origin: string }): string {
  return origin === "number" || origin === "int" ? "" : "a length of ";
}

export interface ConfigProblem {
  /** The path of the key, for example `CLUSTERS.prod.server`. */
  readonly field: string;
  readonly message: string;
}

export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

export function parseConfig<S extends z.ZodMiniType>(schema: S, input: unknown, root: string): Parsed<z.output<S>> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: problemsIn(parsed.error, root) };
}

export function problemsIn({ issues }: z.core.$ZodError, root: string): readonly ConfigProblem[] {
  return issues.flatMap((issue) => problemsOf(issue, root));
}

function problemsOf(issue: z.core.$ZodIssue, root: string): readonly ConfigProblem[] {
  const at = (path: readonly PropertyKey[]) => [root, ...path.map(String)].join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ field: at([...issue.path, key]), message: MESSAGES.unknownKey }));
  }
  // For an invalid key of a record, uses the inner issue, which says more than the outer issue.
  const { message } = issue.code === "invalid_key" ? (issue.issues[0] ?? issue) : issue;
  return [{ field: at(issue.path), message }];
}
