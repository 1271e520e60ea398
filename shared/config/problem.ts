/** What is wrong with a configuration: which key, and what was expected there. Never the value, which may be a secret. */
import * as z from "zod/mini";

/** Where a schema has no message of its own. Zod's English is as long as a whole endpoint, and says what was received, too. */
z.config({ localeError: expectation });

function expectation(issue: z.core.$ZodRawIssue): string {
  if (issue.code === "invalid_type") return `expected ${issue.expected}`;
  return `expected ${issue.code === "invalid_value" ? issue.values.join(" or ") : "something else"}`;
}

export interface ConfigProblem {
  /** Path of the key, as in `CLUSTERS.prod.server`. */
  readonly field: string;
  /** What was expected. */
  readonly message: string;
}

export type Parsed<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

export function parseConfig<S extends z.ZodMiniType>(schema: S, input: unknown, root: string): Parsed<z.output<S>> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: parsed.error.issues.flatMap((issue) => problemsOf(issue, root)) };
}

function problemsOf(issue: z.core.$ZodIssue, root: string): readonly ConfigProblem[] {
  const at = (path: readonly PropertyKey[]) => [root, ...path.map(String)].join(".");
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({ field: at([...issue.path, key]), message: "unknown key" }));
  }
  // What is wrong with a key of a record, rather than that one is wrong.
  const { message } = issue.code === "invalid_key" ? (issue.issues[0] ?? issue) : issue;
  return [{ field: at(issue.path), message }];
}

/** All of them, or all that is wrong with any. */
export function collect<T>(parts: readonly Parsed<T>[]): Parsed<readonly T[]> {
  const problems = parts.flatMap((part) => (part.ok ? [] : part.problems));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, value: parts.flatMap((part) => (part.ok ? [part.value] : [])) };
}
