/** Describes a request to an API server. */
import type { HttpRequest } from "../answers.ts";

const VERBS: Readonly<Record<string, RequestInfo["verb"]>> = {
  POST: "create",
  PATCH: "patch",
  PUT: "update",
  DELETE: "delete",
};

export interface RequestInfo extends HttpRequest {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete";
  readonly resource: string;
  /** The namespace, or an empty string if the object has no namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  /**
   * A short description for tests: `get pods`, `list pods kubevirt.io=virt-launcher spec.nodeName=node01`, `patch
   * evacuations/status`.
   */
  readonly label: string;
}

const PATH =
  /^(?:\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>.+))?$/;

export function requestInfoOf(url: string, init: RequestInit): RequestInfo {
  const { pathname, searchParams: query } = new URL(url);
  const found: Readonly<Record<string, string>> = PATH.exec(pathname)?.groups ?? { resource: pathname.slice(1) };
  const part = (group: string) => decodeURIComponent(found[group] ?? "");
  const [namespace, resource, name] = [part("namespace"), part("resource"), part("name")];
  const { method = "GET" } = init;
  const read = name === "" && resource !== "version" ? "list" : "get";
  const verb = VERBS[method] ?? read;
  const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
  const headers = Object.fromEntries(new Headers(init.headers));
  const request = { method, path: decodeURIComponent(pathname), query, headers, body };
  const info = { ...request, verb, resource, namespace, name, subresource: part("subresource") };
  return { ...info, label: labelOf(info) };
}

/** Returns the kind of a request, for example `get pods` or `patch evacuations/status`. */
export function kindOf({ verb, resource, subresource }: Omit<RequestInfo, "label">): string {
  return `${verb} ${resource}${subresource && `/${subresource}`}`;
}

function labelOf(info: Omit<RequestInfo, "label">): string {
  const { verb, query } = info;
  const kind = kindOf(info);
  if (verb !== "list") return kind;
  const selectors = ["labelSelector", "fieldSelector"].flatMap((selector) => query.get(selector) ?? []);
  return [query.get("limit") === "1" ? kind.replace("list", "count") : kind, ...selectors].join(" ");
}
