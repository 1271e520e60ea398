/**
 * JSON Patch (RFC 6902) as the real server's library reads it (github.com/evanphx/json-patch v4).
 * Owns: where that library is more lenient or stricter than the RFC. Does not own: applying one operation (fast-json-patch).
 */
import { isDeepStrictEqual } from "node:util";
import jsonPatch, { type Operation } from "fast-json-patch";
import { isRecord, viewAs } from "../objects.ts";
import { badRequest, fail } from "../status.ts";

const LIMIT = 10_000;
const OPERATIONS = new Set(["add", "remove", "replace", "move", "copy", "test"]);

export function readJsonPatch(value: unknown): readonly Operation[] {
  if (!Array.isArray(value)) {
    return badRequest("json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  }
  if (value.length > LIMIT) fail({ reason: "RequestEntityTooLarge", limit: LIMIT });
  return viewAs(value);
}

export function applyJsonPatch(document: object, operations: readonly Operation[]): object {
  let result = document;
  for (const operation of operations) {
    if (!applicable(result, operation)) fail({ reason: "PatchRejected" });
    if (operation.op === "test") continue;
    result = jsonPatch.applyOperation(result, lenient(result, operation), false, true, true).newDocument;
  }
  return result;
}

/** A `replace` of a key that is missing adds it, where the RFC wants an error. */
function lenient(document: object, operation: Operation): Operation {
  if (operation.op !== "replace") return structuredClone(operation);
  const parent = parentOf(document, operation.path);
  const op = isRecord(parent) ? "add" : "replace";
  return { ...structuredClone(operation), op };
}

function applicable(document: object, operation: Operation): boolean {
  if (!OPERATIONS.has(operation.op) || typeof operation.path !== "string") return false;
  switch (operation.op) {
    case "test":
      return isDeepStrictEqual(valueAt(document, operation.path) ?? null, operation.value ?? null);
    case "add":
      return isPlace(document, operation.path, 1);
    case "replace":
      return isPlace(document, operation.path, 0);
    case "remove":
      return exists(document, operation.path);
    case "move":
    case "copy":
      return exists(document, operation.from) && isPlace(document, operation.path, 1);
    case "_get":
      return false;
  }
}

/** Can something stand there? Its container must exist; a list takes indexes up to its length, less what `beyond` says. */
function isPlace(document: object, path: string, beyond: 0 | 1): boolean {
  if (path === "") return true;
  const parent = parentOf(document, path);
  if (isRecord(parent)) return true;
  if (!Array.isArray(parent)) return false;
  const key = lastKey(path);
  if (key === "-") return beyond === 1;
  return /^\d+$/.test(key) && Number(key) < parent.length + beyond;
}

function exists(document: object, path: string | undefined): boolean {
  if (typeof path !== "string") return false;
  const parent = path === "" ? {} : parentOf(document, path);
  if (Array.isArray(parent)) return isPlace(document, path, 0) && lastKey(path) !== "-";
  return path === "" || (isRecord(parent) && Object.hasOwn(parent, lastKey(path)));
}

function lastKey(path: string): string {
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
}

function parentOf(document: object, path: string): unknown {
  return valueAt(document, path.slice(0, path.lastIndexOf("/")));
}

function valueAt(document: object, path: string): unknown {
  try {
    return jsonPatch.getValueByPointer(document, path) as unknown;
  } catch {
    return undefined; // a container on the way is missing
  }
}
