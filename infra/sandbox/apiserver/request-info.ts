/** Derives the attributes of a request (verb, resource, name) from its method and URL. */
import { isTrue } from "./options.ts";
import { parseFieldSelector } from "./selectors.ts";

export interface NonResourceRequest {
  readonly isResource: false;
  readonly verb: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface ResourceRequest extends Omit<NonResourceRequest, "isResource"> {
  readonly isResource: true;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export type RequestInfo = ResourceRequest | NonResourceRequest;

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

const NAMESPACE_SUBRESOURCES = new Set(["status", "finalize"]);

export function readRequest(method: string, target: string): RequestInfo {
  const url = new URL(target, "https://localhost");
  const parts = url.pathname.split("/").filter(Boolean).map(decode);
  const query = url.searchParams;
  const prefix = resourcePrefix(parts);
  if (prefix === undefined) {
    return { isResource: false, verb: method.toLowerCase(), path: url.pathname, query };
  }
  const place = placeOf(parts.slice(prefix.length));
  const verb = collectionVerb(VERBS[method] ?? method.toLowerCase(), place.name, query);
  const name = verb === "list" || verb === "watch" ? nameFromSelector(query) : place.name;
  return { isResource: true, verb, path: url.pathname, ...prefix.version, ...place, name, query };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function resourcePrefix(parts: readonly string[]) {
  const [root, first, second] = parts;
  if (root === "api" && first !== undefined && parts.length > 2) {
    return { length: 2, version: { group: "", version: first } };
  }
  if (root === "apis" && first !== undefined && second !== undefined && parts.length > 3) {
    return { length: 3, version: { group: first, version: second } };
  }
  return undefined;
}

function placeOf(parts: readonly string[]) {
  const [first = "", second = "", third, ...rest] = parts;
  const namespaced = first === "namespaces" && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third);
  if (namespaced) {
    const [name = "", ...subresource] = rest;
    return { namespace: second, resource: third, name, subresource: subresource.join("/") };
  }
  // For a request about a Namespace object, the real server also checks the roles in this namespace.
  const namespace = first === "namespaces" ? second : "";
  return {
    namespace,
    resource: first,
    name: second,
    subresource: third === undefined ? "" : [third, ...rest].join("/"),
  };
}

function collectionVerb(verb: string, name: string, query: URLSearchParams): string {
  if (name !== "") return verb;
  if (verb === "get") return isTrue(query.get("watch")) ? "watch" : "list";
  return verb === "delete" ? "deletecollection" : verb;
}

/** Returns the object name in a field selector. A user who may list only this object may therefore send the request. */
function nameFromSelector(query: URLSearchParams): string {
  try {
    const requirements = parseFieldSelector(query.get("fieldSelector") ?? "");
    return requirements.find(({ field, operator }) => field === "metadata.name" && operator === "=")?.value ?? "";
  } catch {
    // A malformed selector is reported after the authorization.
    return "";
  }
}
