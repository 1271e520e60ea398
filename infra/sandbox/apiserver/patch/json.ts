/**
 * JSON Patch, as in the real server's library (gopkg.in/evanphx/json-patch.v4). Unlike in RFC 6902, null means missing,
 * and negative indexes count from the end. The part of a path before the first slash is ignored.
 */
import { isDeepStrictEqual } from "node:util";
import { type Tree, isRecord } from "../objects.ts";
import { badRequest, fail } from "../status.ts";

const LIMIT = 10_000;

export type Operation = Readonly<Partial<Record<"op" | "path" | "from" | "value", unknown>>>;

export function readJsonPatch(value: unknown): readonly Operation[] {
  const operations = value ?? [];
  if (!Array.isArray(operations) || !operations.every(isOperation)) {
    return badRequest("error decoding patch: json: cannot unmarshal it into Go value of type []handlers.jsonPatchOp");
  }
  return operations.length > LIMIT ? fail({ reason: "RequestEntityTooLarge", limit: LIMIT }) : operations;
}

function isOperation(value: unknown): value is Operation {
  return isRecord(value) && [value.op, value.path, value.from].every((text) => typeof (text ?? "") === "string");
}

/** Returns the patched document. Calls `refuse` with an error text if an operation cannot be applied. */
export function applyJsonPatch(
  document: object,
  operations: readonly Operation[],
  refuse: (why: string) => never = () => fail({ reason: "PatchRejected" }),
): object {
  return operations.reduce((root: object, operation) => {
    try {
      return perform(root, operation);
    } catch (error) {
      if (!(error instanceof Inapplicable)) throw error;
      const [op, path] = [String(operation.op), String(operation.path)];
      const missing = `${op} operation does not apply: doc is missing path: "${path}": missing value`;
      return refuse(op === "test" ? `testing value ${path} failed: test failed` : missing);
    }
  }, document);
}

class Inapplicable extends Error {}

function reject(): never {
  throw new Inapplicable();
}

function perform(root: object, { op, path, from, value = null }: Operation): object {
  if (path === "" && op === "replace") return isContainer(value) ? structuredClone(value) : reject();
  if (path === "" && op === "test") return isDeepStrictEqual(root, value) ? root : reject();
  const operate = OPERATIONS.get(op) ?? reject();
  operate(root, { path, from, value });
  return root;
}

const OPERATIONS: ReadonlyMap<unknown, (root: object, operation: Operation) => unknown> = new Map([
  ["test", (root, { path, value }) => isDeepStrictEqual(read(find(root, path)), value) || reject()],
  ["replace", (root, { path, value }) => replace(find(root, path), value)],
  ["add", (root, { path, value }) => insert(root, path, value)],
  ["remove", (root, { path }) => take(find(root, path))],
  ["copy", (root, { path, from }) => insert(root, path, read(find(root, from)))],
  ["move", (root, { path, from }) => insert(root, path, take(find(root, from)))],
]);

type Container = Tree | unknown[];
type Place = readonly [container: Container, key: string];

function isContainer(value: unknown): value is Container {
  return typeof value === "object" && value !== null;
}

function find(root: unknown, path: unknown): Place {
  const [, ...keys] = typeof path === "string" ? path.split("/") : [];
  const names = keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = names.pop() ?? reject();
  const container = names.reduce((parent, name) => (isContainer(parent) ? read([parent, name]) : reject()), root);
  return isContainer(container) ? [container, last] : reject();
}

function read([container, key]: Place): unknown {
  if (Array.isArray(container)) return container[indexOf(key, container.length)];
  return Object.hasOwn(container, key) ? container[key] : null;
}

function indexOf(key: string, length: number): number {
  const index = /^[-+]?\d+$/.test(key) ? Number(key) : Number.NaN;
  const position = index < 0 ? index + length : index;
  return position >= 0 && position < length ? position : reject();
}

function replace([container, key]: Place, value: unknown): void {
  Reflect.set(container, Array.isArray(container) ? indexOf(key, container.length) : key, structuredClone(value));
}

function insert(root: unknown, path: unknown, value: unknown): void {
  const [container, key] = find(root, path);
  if (!Array.isArray(container)) return replace([container, key], value);
  container.splice(key === "-" ? container.length : indexOf(key, container.length + 1), 0, structuredClone(value));
}

function take([container, key]: Place): unknown {
  if (Array.isArray(container)) return container.splice(indexOf(key, container.length), 1)[0];
  const value = Object.hasOwn(container, key) ? container[key] : reject();
  delete container[key];
  return value;
}
