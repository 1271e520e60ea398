/** What a request to an API server asks for. */
const VERBS: Readonly<Record<string, Asked["verb"]>> = {
  POST: "create",
  PATCH: "patch",
  PUT: "update",
  DELETE: "delete",
};

export interface Asked {
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

export function askedOf(url: string, init: RequestInit): Asked {
  const { pathname, searchParams: query } = new URL(url);
  const found = PATH.exec(pathname)?.groups ?? { resource: pathname.slice(1), name: "" };
  const { namespace = "", resource = "", name = "", subresource = "" } = mapped(found);
  const { method = "GET", body } = init;
  const verb = VERBS[method] ?? (name === "" && resource !== "version" ? "list" : "get");
  const selectors = ["labelSelector", "fieldSelector"].flatMap((selector) => query.get(selector) ?? []);
  const told = verb === "list" && query.get("limit") === "1" ? "count" : verb;
  const label = [`${told} ${resource}${subresource && `/${subresource}`}`, ...(verb === "list" ? selectors : [])];
  const sent: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  return { verb, resource, namespace, name, subresource, query, body: sent, label: label.join(" ") };
}

function mapped(groups: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(groups).map(([key, text = ""]) => [key, decodeURIComponent(text)]));
}
