/**
 * YAML texts from a cluster.
 *
 * Imported where there is a text, by `await import`: evaluating the library takes some milliseconds of a fresh isolate's start-up, and most
 * clusters have nothing in YAML.
 */
import { load, YAMLException } from "js-yaml";
import type { Parsed } from "../../config/problem.ts";

/** `field` is the key that the text was found under. */
export function parseYaml(text: string, field: string): Parsed<unknown> {
  try {
    return { ok: true, value: load(text) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? "" : ` in line ${error.mark.line + 1}`;
    return { ok: false, problems: [{ field, message: `expected YAML, found an error${line}: ${error.reason}` }] };
  }
}
