/** The objects of one cluster, answered for as an API server does, as far as our requests go. */
import { applyJsonPatch, readJsonPatch } from "../../../infra/sandbox/apiserver/patch/json.ts";
import { applyMergePatch } from "../../../infra/sandbox/apiserver/patch/merge.ts";
import {
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../../../infra/sandbox/apiserver/selectors.ts";
import { time } from "../fixtures.ts";
import type { Collections } from "./clusters.ts";
import { asJson, at, isObject, type Json, type JsonObject, textOf } from "./json.ts";

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface ApiReply {
  readonly code: number;
  readonly body: Json;
}

export function statusReply(code: number, reason: string, message = reason): ApiReply {
  return { code, body: { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message } };
}

const NOT_FOUND = statusReply(404, "NotFound");

/** A path without its namespace: every object of a kind is in one place here. */
const PATH =
  /^(?<group>\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>eviction|status))?$/;

type Place = Readonly<Record<string, string | undefined>>;

export class Store {
  readonly #objects: ReadonlyMap<string, JsonObject[]>;
  #version = 100_000;

  constructor(collections: Collections) {
    this.#objects = new Map(Object.entries(collections).map(([path, items]) => [path, [...items]]));
  }

  answer(call: ApiCall): ApiReply {
    if (call.path === "/version") return { code: 200, body: { major: "1", minor: "35" } };
    const { group, resource, ...place } = PATH.exec(decodeURIComponent(call.path))?.groups ?? {};
    if (resource === "selfsubjectaccessreviews") return { code: 201, body: { status: { allowed: true } } };
    if (resource === "events") return { code: 201, body: asJson(call.body ?? {}) };
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
    if (method === "GET") return { code: 200, body: found };
    if (method === "DELETE") {
      const uid = at(asJson(body), "preconditions", "uid");
      if (uid !== undefined && uid !== at(found, "metadata", "uid")) return statusReply(409, "Conflict");
      if (!dryRun) items.splice(items.indexOf(found), 1);
      return { code: 200, body: found };
    }
    const changed = patched(found, body);
    if (changed === undefined) return statusReply(422, "Invalid");
    const stamped = this.#stamped(changed);
    if (!dryRun) items[items.indexOf(found)] = stamped;
    return { code: 200, body: stamped };
  }

  #create(items: JsonObject[], { query, body }: ApiCall): ApiReply {
    const sent = asJson(body);
    if (!isObject(sent)) return statusReply(400, "BadRequest");
    const name = at(sent, "metadata", "name");
    if (items.some((item) => at(item, "metadata", "name") === name)) return statusReply(409, "AlreadyExists");
    const created = this.#stamped(sent, { creationTimestamp: time(0) });
    if (query.get("dryRun") !== "All") items.push(created);
    return { code: 201, body: created };
  }

  #stamped(changed: JsonObject, more: JsonObject = {}): JsonObject {
    const { metadata } = changed;
    const resourceVersion = String(this.#version++);
    const uid = `uid-${resourceVersion}`;
    return isObject(metadata) ? { ...changed, metadata: { uid, ...more, ...metadata, resourceVersion } } : changed;
  }
}

function list(items: readonly JsonObject[], namespace: string | undefined, { query }: ApiCall): ApiReply {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "");
  const selected = items
    .filter((item) => namespace === undefined || at(item, "metadata", "namespace") === namespace)
    .filter((item) => matchesLabels(labels, labelsOf(item)))
    .filter((item) => matchesFields(fields, (field) => textOf(at(item, ...field.split(".")))));
  return { code: 200, body: { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "1" }, items: selected } };
}

function labelsOf(item: JsonObject): Record<string, string> {
  const labels = at(item, "metadata", "labels");
  return isObject(labels) ? Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, textOf(value)])) : {};
}

/** Undefined: a test failed, or it does not apply. */
function patched(found: JsonObject, body: unknown): JsonObject | undefined {
  const sent = asJson(body);
  const expected = at(sent, "metadata", "resourceVersion");
  if (expected !== undefined && expected !== at(found, "metadata", "resourceVersion")) return undefined;
  try {
    const after = Array.isArray(body) ? applyJsonPatch(found, readJsonPatch(body)) : applyMergePatch(found, sent);
    const changed = asJson(after);
    return isObject(changed) ? changed : undefined;
  } catch {
    return undefined;
  }
}
