/** Short forms of the contract's requests. `{ns}` stands for the scenario's namespace. */
import type { Request } from "./client.ts";

/** `pods/p` in the core group; `policy/v1/poddisruptionbudgets/b`; `example/widgets/w`; `/…` unchanged. */
export function pathOf(place: string): string {
  if (place.startsWith("/")) return place;
  const [first = "", second = "", ...rest] = place.split("/");
  if (first === "example") return `/apis/contract.example.com/v1/namespaces/{ns}/${[second, ...rest].join("/")}`;
  return GROUPS.has(first)
    ? `/apis/${first}/${second}/namespaces/{ns}/${rest.join("/")}`
    : `/api/v1/namespaces/{ns}/${place}`;
}

const GROUPS = new Set(["policy", "apps", "coordination.k8s.io", "events.k8s.io", "rbac.authorization.k8s.io"]);

type More = Pick<Request, "headers" | "token">;

export function get(place: string, more: More = {}): Request {
  return { method: "GET", path: pathOf(place), ...more };
}

export function post(place: string, body: unknown, more: More = {}): Request {
  return { method: "POST", path: pathOf(place), body, ...more };
}

export function put(place: string, body: unknown, more: More = {}): Request {
  return { method: "PUT", path: pathOf(place), body, ...more };
}

export function del(place: string, body?: unknown, more: More = {}): Request {
  return { method: "DELETE", path: pathOf(place), ...(body !== undefined && { body }), ...more };
}

const PATCHES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export function patch(place: string, format: keyof typeof PATCHES | { type: string }, body: unknown): Request {
  const type = typeof format === "string" ? PATCHES[format] : format.type;
  return { method: "PATCH", path: pathOf(place), body, type };
}

export function pod(name: string, more: { metadata?: object; spec?: object } = {}): Record<string, unknown> {
  const containers = [
    { name: "one", image: "example/one" },
    { name: "two", image: "example/two" },
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...more.metadata },
    spec: { containers, ...more.spec },
  };
}

export function configMap(name: string, more: { metadata?: object; data?: object } = {}): Record<string, unknown> {
  const { metadata, data } = more;
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, ...(data && { data }) };
}

export function example(kind: "Widget" | "Gadget", name: string, more: object = {}): Record<string, unknown> {
  return { apiVersion: "contract.example.com/v1", kind, metadata: { name }, ...more };
}
