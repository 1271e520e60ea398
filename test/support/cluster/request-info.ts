/** What a request to an API server asks for. */
const VERBS: Readonly<Record<string, RequestInfo["verb"]>> = {
  POST: "create",
  PATCH: "patch",
  PUT: "update",
  DELETE: "delete",
};

export interface RequestInfo {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete";
  readonly resource: string;
  /** Empty: none. */
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  /** For tests: `get pods`, `list pods kubevirt.io=virt-launcher spec.nodeName=node01`, `patch evacuations/status`. */
  readonly label: string;
}

const PATH =
  /^(?:\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/]+))?(?:\/(?<subresource>.+))?$/;

export function requestInfoOf(url: string, init: RequestInit): RequestInfo {
  const { pathname, searchParams: query } = new URL(url);
  const found: Readonly<Record<string, string>> = PATH.exec(pathname)?.groups ?? { resource: pathname.slice(1) };
  const part = (group: string) => decodeURIComponent(found[group] ?? "");
  const [namespace, resource, name] = [part("namespace"), part("resource"), part("name")];
  const read = name === "" && resource !== "version" ? "list" : "get";
  const verb = VERBS[init.method ?? "GET"] ?? read;
  const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
  const asked = { verb, resource, namespace, name, subresource: part("subresource"), query, body };
  return { ...asked, label: labelOf(asked) };
}

function labelOf({ verb, resource, subresource, query }: Omit<RequestInfo, "label">): string {
  const what = `${resource}${subresource && `/${subresource}`}`;
  if (verb !== "list") return `${verb} ${what}`;
  const selectors = ["labelSelector", "fieldSelector"].flatMap((selector) => query.get(selector) ?? []);
  return [`${query.get("limit") === "1" ? "count" : "list"} ${what}`, ...selectors].join(" ");
}
