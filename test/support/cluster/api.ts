/**
 * A Kubernetes API in memory, behind `fetch`. It stores JSON objects, and answers Lifeboat's requests as an API server
 * does. A hook can refuse a request, send a wrong answer, delay the answer, or change the cluster before the answer.
 */
import { isDeepStrictEqual } from "node:util";
import {
  applyJsonPatch,
  applyMergePatch,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
  readJsonPatch,
} from "../../../infra/sandbox/index.ts";
import type { Fetch } from "../../../shared/kube/transport.ts";
import type { Behaviour } from "../answers.ts";
import { orAborted } from "./network.ts";
import { type RequestInfo, requestInfoOf } from "./request-info.ts";
import { asJson, at, isObject, type Json, type JsonObject, textOf, textsAt } from "../json.ts";

/**
 * Called before each answer. If it returns a `Response`, the `Response` replaces the answer. If it throws an error,
 * `fetch` throws the same error.
 */
export type Before = (label: string, asked?: RequestInfo) => unknown;

export interface Reply {
  readonly code: number;
  readonly body: Json;
}

export function failure(code: number, reason: string, message = reason): Reply {
  return { code, body: { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message } };
}

export const NOT_FOUND = failure(404, "NotFound");
const CONFLICT = failure(409, "Conflict");
const INVALID = failure(422, "Invalid");

/** Other components of the cluster: admission webhooks, and controllers that react immediately. */
export interface Parties {
  readonly review?: (asked: RequestInfo, found: JsonObject | undefined) => Reply | undefined;
  /** Returns the object to store, or a refusal. */
  readonly admit?: (resource: string, object: JsonObject, before: JsonObject | undefined) => JsonObject | Reply;
}

export function isReply(value: JsonObject | Reply): value is Reply {
  return typeof value["code"] === "number" && "body" in value;
}

interface Key {
  readonly namespace?: string;
  readonly name: string;
}

export class FakeApi {
  #kept = new Map<string, Map<string, JsonObject>>();
  readonly #parties: Parties;
  #version = 100;
  now = (): Date => new Date(0);
  readonly requests: RequestInfo[] = [];
  instead: (request: RequestInfo) => Behaviour | undefined = () => undefined;

  constructor(parties: Parties = {}) {
    this.#parties = parties;
  }

  fetch(before: Before = () => undefined): Fetch {
    return async (url, init) => {
      const asked = requestInfoOf(url, init);
      this.requests.push(asked);
      const first = before(asked.label, asked);
      const reported: unknown = first instanceof Promise ? await orAborted(first, init.signal) : first;
      if (reported instanceof Response) return reported;
      const instead = this.instead(asked);
      if (instead !== undefined) return await instead(asked, init.signal ?? new AbortController().signal);
      const { code, body } = this.answer(asked);
      return new Response(JSON.stringify(body), { status: code });
    };
  }

  nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }

  /** Stores an object without admission. */
  put(resource: string, object: JsonObject): void {
    this.#of(resource).set(pathOf(keyOfObject(object)), object);
  }

  object(resource: string, key: Key): JsonObject | undefined {
    return this.#of(resource).get(pathOf(key));
  }

  /** Lists the objects in the order in which an API server lists them. */
  objects(resource: string): readonly JsonObject[] {
    return [...this.#of(resource)].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  remove(resource: string, key: Key): void {
    this.#of(resource).delete(pathOf(key));
  }

  merge(resource: string, key: Key, patch: object): void {
    const found = this.object(resource, key);
    if (found !== undefined) this.#keep(resource, objectOf(applyMergePatch(structuredClone(found), patch)), found);
  }

  snapshot(): ReadonlyMap<string, ReadonlyMap<string, JsonObject>> {
    return new Map([...this.#kept].map(([resource, kept]) => [resource, new Map(kept)]));
  }

  at<T>(snapshot: ReturnType<FakeApi["snapshot"]>, work: () => T): T {
    const now = this.#kept;
    this.#kept = new Map([...snapshot].map(([resource, kept]) => [resource, new Map(kept)]));
    try {
      return work();
    } finally {
      this.#kept = now;
    }
  }

  answer(asked: RequestInfo): Reply {
    const { verb, resource } = asked;
    const found = asked.name === "" ? undefined : this.object(resource, asked);
    const reviewed = this.#parties.review?.(asked, found);
    if (reviewed !== undefined) return reviewed;
    if (verb === "list") return this.#list(asked);
    if (verb === "create") return this.#create(asked);
    if (found === undefined) return NOT_FOUND;
    if (verb === "get") return { code: 200, body: found };
    return verb === "delete" ? this.#delete(found, asked) : this.#patch(found, asked);
  }

  #of(resource: string): Map<string, JsonObject> {
    const kept = this.#kept.get(resource) ?? new Map<string, JsonObject>();
    this.#kept.set(resource, kept);
    return kept;
  }

  #list({ resource, namespace, query }: RequestInfo): Reply {
    const labels = parseLabelSelector(query.get("labelSelector") ?? "");
    const fields = parseFieldSelector(query.get("fieldSelector") ?? "");
    const items = this.objects(resource).filter(
      (item) =>
        (namespace === "" || at(item, "metadata", "namespace") === namespace) &&
        matchesLabels(labels, textsAt(item, "metadata", "labels")) &&
        matchesFields(fields, (field) => textOf(at(item, ...field.split(".")))),
    );
    const from = Number(query.get("continue") ?? 0);
    const to = from + Number(query.get("limit") ?? Infinity);
    const left = items.length - to;
    const more = left > 0 ? { continue: String(to), remainingItemCount: left } : {};
    const metadata = { resourceVersion: String(this.#version), ...more };
    return { code: 200, body: { kind: "List", apiVersion: "v1", metadata, items: items.slice(from, to) } };
  }

  #create({ resource, namespace, body, query }: RequestInfo): Reply {
    const sent = objectOf(body);
    const key = { namespace, name: textOf(at(sent, "metadata", "name")) };
    if (this.object(resource, key) !== undefined) return failure(409, "AlreadyExists");
    const uid = `uid-${this.#version + 1}`;
    // Makes each new object younger than the previous object.
    const creationTimestamp = new Date(this.now().getTime() + this.#version + 1).toISOString();
    const metadata = { ...objectOf(sent["metadata"]), ...(namespace !== "" && { namespace }) };
    const created = { ...sent, metadata: { ...metadata, uid, generation: 1, creationTimestamp } };
    if (query.get("dryRun") === "All") return { code: 201, body: created };
    const kept = this.#keep(resource, created, undefined);
    return isReply(kept) ? kept : { code: 201, body: kept };
  }

  #patch(found: JsonObject, { resource, subresource, body, query }: RequestInfo): Reply {
    const patched = patchedBy(found, body);
    if (isReply(patched)) return patched;
    const isStatus = subresource === "status";
    const next = isStatus ? { ...found, status: patched["status"] ?? {} } : withStatus(patched, found["status"]);
    if (query.get("dryRun") === "All" || isDeepStrictEqual(next, found)) return { code: 200, body: found };
    const kept = this.#keep(resource, next, found);
    return isReply(kept) ? kept : { code: 200, body: kept };
  }

  #delete(found: JsonObject, { resource, body }: RequestInfo): Reply {
    for (const field of ["uid", "resourceVersion"]) {
      const expected = at(asJson(body), "preconditions", field);
      if (expected !== undefined && expected !== at(found, "metadata", field)) return CONFLICT;
    }
    this.remove(resource, keyOfObject(found));
    return { code: 200, body: found };
  }

  #keep(resource: string, object: JsonObject, before: JsonObject | undefined): JsonObject | Reply {
    const admitted = this.#parties.admit?.(resource, object, before) ?? object;
    if (isReply(admitted)) return admitted;
    const metadata = objectOf(admitted["metadata"]);
    const isNew = before !== undefined && !isDeepStrictEqual(before["spec"], admitted["spec"]);
    const generation = Number(metadata["generation"] ?? 1) + (isNew ? 1 : 0);
    const kept = { ...admitted, metadata: { ...metadata, generation, resourceVersion: this.nextVersion() } };
    this.put(resource, kept);
    return kept;
  }
}

function pathOf({ namespace = "", name }: Key): string {
  return `${namespace}/${name}`;
}

export function keyOfObject(object: JsonObject): { readonly namespace: string; readonly name: string } {
  return {
    namespace: textOf(at(object, "metadata", "namespace")),
    name: textOf(at(object, "metadata", "name")),
  };
}

function objectOf(value: unknown): JsonObject {
  const json = asJson(value ?? {});
  return isObject(json) ? json : {};
}

function withStatus(object: JsonObject, status: Json | undefined): JsonObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

/**
 * Applies a patch. Returns 422 if a JSON patch does not apply or one of its `test` operations fails. Returns 409 if the
 * UID or resourceVersion in a merge patch differs from the object's.
 */
function patchedBy(found: JsonObject, body: unknown): JsonObject | Reply {
  if (!Array.isArray(body)) {
    const merged = objectOf(applyMergePatch(structuredClone(found), body));
    const isSame = ["uid", "resourceVersion"].every((field) => {
      return at(merged, "metadata", field) === at(found, "metadata", field);
    });
    return isSame ? merged : CONFLICT;
  }
  try {
    return objectOf(applyJsonPatch(structuredClone(found), readJsonPatch(body)));
  } catch {
    return INVALID;
  }
}
