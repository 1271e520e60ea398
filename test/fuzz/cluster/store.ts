/**
 * The objects of one cluster, answered for as an API server does, as far as our requests go.
 * Owns: reading, creating, patching and deleting them. Does not own: answering badly (misbehaviour.ts).
 */
import jsonPatch, { type Operation } from "fast-json-patch";
import { UPSTREAM } from "../canaries.ts";
import { at, COLLECTIONS, VERSION } from "../corpus.ts";
import { isObject, type Json, type JsonObject } from "../json-mutations.ts";

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json | undefined;
}

export interface ApiReply {
  readonly code: number;
  readonly text: string;
}

export function statusReply(code: number, reason: string): ApiReply {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason,
    code,
    message: `${reason}: ${UPSTREAM}`,
  };
  return { code, text: JSON.stringify(status) };
}

const object = (code: number, value: Json): ApiReply => ({ code, text: JSON.stringify(value) });
const NOT_FOUND = statusReply(404, "NotFound");

/** A path without its namespace: every object of a kind is in one place here. */
const PATH =
  /^(?<group>\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>eviction|status))?$/;

type Place = Readonly<Record<string, string | undefined>>;

export class Store {
  readonly #objects: ReadonlyMap<string, JsonObject[]>;
  #version = 100_000;

  constructor() {
    this.#objects = new Map([...COLLECTIONS].map(([path, items]) => [path, structuredClone([...items])]));
  }

  /** Every object of a resource, to be tampered with. */
  of(resource: string): JsonObject[] {
    for (const [path, items] of this.#objects) if (path.endsWith(`/${resource}`)) return items;
    return [];
  }

  answer(call: ApiCall): ApiReply {
    if (call.path === "/version") return object(200, VERSION);
    const { group, resource, ...place } = PATH.exec(decodeURIComponent(call.path))?.groups ?? {};
    if (resource === "events") return object(201, call.body ?? {});
    const items = this.#objects.get(`${group}/${resource}`);
    return items === undefined ? NOT_FOUND : this.#within(items, place, call);
  }

  #within(items: JsonObject[], { namespace, name, subresource }: Place, call: ApiCall): ApiReply {
    if (name === undefined) return call.method === "POST" ? this.#create(items, call) : list(items, namespace, call);
    if (subresource === "eviction") return statusReply(429, "TooManyRequests");
    const found = items.find((item) => at(item, "metadata", "name") === name);
    return found === undefined ? NOT_FOUND : this.#one(found, items, call);
  }

  #one(found: JsonObject, items: JsonObject[], { method, query, body }: ApiCall): ApiReply {
    const dryRun = query.get("dryRun") === "All";
    if (method === "GET") return object(200, found);
    if (method === "DELETE") {
      const uid = at(body, "preconditions", "uid");
      if (uid !== undefined && uid !== at(found, "metadata", "uid")) return statusReply(409, "Conflict");
      if (!dryRun) items.splice(items.indexOf(found), 1);
      return object(200, found);
    }
    const changed = Array.isArray(body) ? patched(found, body) : merged(found, body);
    if (changed === undefined) return statusReply(422, "Invalid");
    this.#stamp(changed);
    if (!dryRun) items[items.indexOf(found)] = changed;
    return object(200, changed);
  }

  #create(items: JsonObject[], { body }: ApiCall): ApiReply {
    if (!isObject(body)) return statusReply(400, "BadRequest");
    const name = at(body, "metadata", "name");
    if (items.some((item) => at(item, "metadata", "name") === name)) return statusReply(409, "AlreadyExists");
    const created: JsonObject = structuredClone(body);
    this.#stamp(created, { creationTimestamp: "2026-11-20T12:00:00Z" });
    items.push(created);
    return object(201, created);
  }

  #stamp(changed: JsonObject, more: JsonObject = {}): void {
    const metadata = changed["metadata"];
    const resourceVersion = String(this.#version++);
    if (isObject(metadata))
      changed["metadata"] = { uid: `uid-${resourceVersion}`, ...more, ...metadata, resourceVersion };
  }
}

function list(items: readonly JsonObject[], namespace: string | undefined, { query }: ApiCall): ApiReply {
  const selector = query.get("labelSelector");
  const fields = (query.get("fieldSelector") ?? "").split(",").filter((one) => one !== "");
  const selected = items
    .filter((item) => namespace === undefined || at(item, "metadata", "namespace") === namespace)
    .filter((item) => selector === null || isSelected(item, selector))
    .filter((item) => fields.every((field) => hasField(item, field)));
  return object(200, { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: selected });
}

/** `path=value` or `path!=value`. */
function hasField(item: JsonObject, field: string): boolean {
  const [, path = "", not, value] = /^([^!=]+)(!?)=(.*)$/.exec(field) ?? [];
  const is = (at(item, ...path.split(".")) ?? "") === value;
  return not === "!" ? !is : is;
}

function isSelected(item: JsonObject, selector: string): boolean {
  const [key = "", value] = selector.split("=");
  const label = at(item, "metadata", "labels", key);
  return value === undefined ? label !== undefined : label === value;
}

function isOperation(value: Json): value is Json & Operation {
  return isObject(value) && typeof value["op"] === "string" && typeof value["path"] === "string";
}

/** Undefined: a test failed, or it does not apply. */
function patched(found: JsonObject, operations: Json[]): JsonObject | undefined {
  try {
    return jsonPatch.applyPatch(structuredClone(found), structuredClone(operations).filter(isOperation), true)
      .newDocument;
  } catch {
    return undefined;
  }
}

function merged(found: JsonObject, body: Json | undefined): JsonObject | undefined {
  const expected = at(body, "metadata", "resourceVersion");
  if (expected !== undefined && expected !== at(found, "metadata", "resourceVersion")) return undefined;
  if (!isObject(body)) return undefined;
  const parts = ["data", "spec", "status"].flatMap((key) => {
    const [before, change] = [found[key], body[key]];
    return isObject(change) ? [[key, { ...(isObject(before) ? before : {}), ...withoutNulls(change) }] as const] : [];
  });
  return { ...found, ...Object.fromEntries(parts) };
}

function withoutNulls(change: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
}
