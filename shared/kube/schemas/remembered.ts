/**
 * Parses and keeps once what many objects of a list have in common, recognised by its text.
 *
 * Most of fifty thousand pods have the same tolerations and requests: one object for each pod would not fit into a Worker,
 * and computing the same requests again takes time.
 */
import * as z from "zod/mini";

export type Issues = z.core.ParsePayload["issues"];

/**
 * Equal inputs become one and the same output. Make one for each list. `at` is where in the object the inputs are.
 */
export function remembered<S extends z.ZodMiniType>(schema: S, at: readonly string[]) {
  const seen = new Map<string, z.output<S>>();
  return (input: unknown, issues: Issues): z.output<S> => {
    const text = JSON.stringify(input) ?? "";
    const known = seen.get(text);
    if (known !== undefined) return known;
    const parsed = schema.safeParse(input);
    if (parsed.success) seen.set(text, parsed.data);
    else issues.push(...parsed.error.issues.map((issue) => issueAt(issue, at, input)));
    return parsed.success ? parsed.data : z.NEVER;
  };
}

function issueAt({ path, message }: z.core.$ZodIssue, at: readonly string[], input: unknown): Issues[number] {
  return { code: "custom", input, path: [...at, ...path], message };
}

/** The same for texts, such as node names. */
export function rememberedText(): (text: string) => string {
  const seen = new Map<string, string>();
  return (text) => {
    const known = seen.get(text);
    if (known === undefined) seen.set(text, text);
    return known ?? text;
  };
}
