/** Chooses the handler of a request by its path. */
import { REVIEWS, handleReview } from "./access-reviews.ts";
import { passOn } from "./aggregation.ts";
import { handleBinding } from "./binding.ts";
import { type Answer, type RequestContext, type ResourceContext, collectionOf, resourceOf } from "./context.ts";
import { handleCreate } from "./creation.ts";
import { handleDelete, handleDeleteCollection } from "./deletion.ts";
import { type Discovery, VERSION, coreDiscovery, groupDiscovery, oneGroup, resourceDiscovery } from "./discovery.ts";
import { handleEviction } from "./eviction.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { openApiDocument } from "./schema/openapi.ts";
import { handlePatch } from "./patching.ts";
import { handleGet, handleList } from "./reading.ts";
import type { ResourceRequest } from "./request-info.ts";
import { requestToken } from "./service-account-tokens.ts";
import { fail } from "./status.ts";
import { handleFinalize, handleUpdate } from "./updating.ts";
import { handleWatch } from "./watch.ts";

type Handler = (ctx: ResourceContext) => Answer | Promise<Answer>;

const MAIN: Readonly<Record<string, Handler>> = {
  get: handleGet,
  list: handleList,
  watch: handleWatch,
  create: handleCreate,
  update: handleUpdate,
  patch: handlePatch,
  delete: handleDelete,
  deletecollection: handleDeleteCollection,
};

const STATUS: Readonly<Record<string, Handler>> = { get: handleGet, update: handleUpdate, patch: handlePatch };

const SUBRESOURCES: Readonly<Record<string, Readonly<Record<string, Handler>>>> = {
  eviction: { create: handleEviction },
  binding: { create: handleBinding },
  token: { create: requestToken },
  finalize: { update: handleFinalize },
};

export function dispatch(ctx: RequestContext): Answer | Promise<Answer> {
  const { info } = ctx;
  if (!info.isResource) return nonResource(ctx);
  const review = REVIEWS.find((one) => one.plural === info.resource && one.group === info.group);
  if (review === undefined) return resource(ctx, info);
  return info.verb === "create" ? handleReview(ctx, review) : fail({ reason: "MethodNotAllowed" });
}

function resource(ctx: RequestContext, info: ResourceRequest): Answer | Promise<Answer> {
  const aggregated = ctx.state.aggregated.get(`${info.group}/${info.version}`);
  if (aggregated !== undefined) return passOn(ctx, aggregated);
  const kind = ctx.state.kinds.find(info.group, info.version, info.resource);
  if (kind === undefined || isMisplacedKind(info, kind.namespaced)) return unknown(ctx, info);
  const handler = handlersOf(info, kind)[info.verb];
  if (handler === undefined || isMisplaced(info, kind.namespaced)) return fail({ reason: "MethodNotAllowed" });
  const namespace = kind.namespaced ? info.namespace : "";
  if (kind.deprecation !== undefined) ctx.warnings.push(kind.deprecation);
  return handler({ ...ctx, info: { ...info, namespace }, kind, collection: collectionOf(ctx.state, kind) });
}

/**
 * Refuses a request for an unknown resource. If the group version has built-in kinds, the answer is a Status.
 * Otherwise, it is plain text.
 */
function unknown({ state }: RequestContext, { group, version }: ResourceRequest): never {
  const isOwn = state.kinds.all().some((one) => !one.custom && one.group === group && one.version === version);
  return fail({ reason: isOwn ? "NoSuchResource" : "PageNotFound" });
}

/**
 * Returns true if the path does not fit the scope of the kind. Without a namespace, namespaced objects can only be
 * listed or watched.
 */
function isMisplacedKind(info: ResourceRequest, namespaced: boolean): boolean {
  if (!namespaced) return info.namespace !== "" && info.resource !== "namespaces";
  return info.namespace === "" && info.verb !== "list" && info.verb !== "watch" && info.name !== "";
}

/** The real server forwards these subresources to a kubelet or another server. The sandbox does not implement them. */
const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  pods: ["attach", "exec", "log", "portforward", "proxy", "resize", "ephemeralcontainers"],
  nodes: ["proxy"],
};

function handlersOf(info: ResourceRequest, kind: ResourceKind): Readonly<Record<string, Handler>> {
  const { subresource } = info;
  if (subresource === "") return MAIN;
  if (subresource === "status" && kind.hasStatus) return STATUS;
  if (kind.custom) return fail({ reason: "NotFound", resource: resourceOf(kind), name: info.name });
  const [name = ""] = subresource.split("/");
  if (ELSEWHERE[kind.plural]?.includes(name)) {
    return fail({ reason: "NotImplemented", message: `${kind.plural}/${name}` });
  }
  const handlers = kind.subresources.includes(subresource) ? SUBRESOURCES[subresource] : undefined;
  return handlers ?? fail({ reason: "NoSuchResource" });
}

/**
 * Returns true if the method does not fit the path. Examples are POST with a name, PUT without a name, and a write
 * across all namespaces.
 */
function isMisplaced({ verb, name, namespace, subresource }: ResourceRequest, namespaced: boolean): boolean {
  if (namespaced && namespace === "") return verb !== "list" && verb !== "watch";
  if (verb === "create") return subresource === "" && name !== "";
  return (verb === "update" || verb === "patch") && name === "";
}

const HEALTH = new Set(["/livez", "/readyz", "/healthz"]);

function nonResource(ctx: RequestContext): Answer | Promise<Answer> {
  const { path } = ctx.info;
  if (HEALTH.has(path)) return { type: "Text", code: 200, text: "ok" };
  if (path === "/version" || path === "/version/") return document({ body: VERSION });
  if (path.startsWith("/openapi/")) return openApiDocument(ctx);
  if (path === "/metrics") return { type: "Text", code: 200, text: metricsText(ctx) };
  return document(discoveryOf(ctx, path.split("/").filter(Boolean)));
}

function metricsText({ state }: RequestContext): string {
  const lines = state.kinds.all().map((kind) => {
    const count = collectionOf(state, kind).list("").length;
    return `apiserver_resource_objects{group="${kind.group}",resource="${kind.plural}"} ${count}\n`;
  });
  const failedOpen = [...state.failedOpen].map(
    ([name, count]) => `apiserver_admission_webhook_fail_open_count{name="${name}",type="validating"} ${count}\n`,
  );
  const counter = "# TYPE apiserver_admission_webhook_fail_open_count counter\n";
  return `# TYPE apiserver_resource_objects gauge\n${[...new Set(lines)].join("")}${counter}${failedOpen.join("")}`;
}

function discoveryOf(ctx: RequestContext, [root, first, second]: readonly string[]): Discovery | undefined {
  if (root === "api") return first === undefined ? coreDiscovery(ctx) : resourceDiscovery(ctx, "", first);
  if (root !== "apis") return undefined;
  if (first === undefined) return groupDiscovery(ctx);
  return second === undefined ? oneGroup(ctx, first) : resourceDiscovery(ctx, first, second);
}

function document(discovery: Discovery | undefined): Answer {
  if (discovery === undefined) return fail({ reason: "PageNotFound" });
  return { type: "Document", code: 200, ...discovery };
}
