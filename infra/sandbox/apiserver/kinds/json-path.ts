/**
 * The JSONPath of printer columns: `.status.phase`, `.status.conditions[?(@.type=="Ready")].status`, `.a[0]`, `.a[*]`,
 * `.metadata.labels['a\.b/c']`.
 */
import { JSONPath } from "jsonpath-plus";
import { viewAs } from "../objects.ts";

/** Evaluates the path of a printer column. Returns an empty list if the path cannot be evaluated. */
export function evaluateJsonPath(path: string, object: object): readonly unknown[] {
  if (!/^[.[]/.test(path)) return [];
  const plain = path
    .replaceAll(/\.((?:[^.[\\]|\\.)+)/g, (step, key: string) => (key.includes("\\") ? `['${key}']` : step))
    .replaceAll(/\\(.)/g, "$1");
  return viewAs(JSONPath({ path: `$${plain}`, json: object, eval: "safe", wrap: true }));
}
