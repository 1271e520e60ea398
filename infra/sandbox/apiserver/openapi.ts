/**
 * OpenAPI v3, as far as kubectl wants it: which operations validate fields.
 * Owns: the documents. Does not own: discovery (discovery.ts).
 */
import type { Answer, RequestContext } from "./context.ts";
import { groupVersionsOf } from "./discovery.ts";
import type { ResourceKind } from "./kinds/kind.ts";
import { apiVersionOf } from "./objects.ts";
import { fail } from "./status.ts";

const ROOT = "/openapi/v3";

export function openApiDocument(ctx: RequestContext): Answer {
  const { path } = ctx.info;
  if (path === ROOT) return { type: "Document", code: 200, body: index(ctx) };
  const kinds = ctx.state.kinds.all().filter((kind) => `${ROOT}/${placeOf(kind)}` === path);
  return kinds.length === 0
    ? fail({ reason: "PageNotFound" })
    : { type: "Document", code: 200, body: documentOf(kinds) };
}

function placeOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? `api/${version}` : `apis/${apiVersionOf(group, version)}`;
}

function index(ctx: RequestContext) {
  const places = groupVersionsOf(ctx).map(placeOf);
  return { paths: Object.fromEntries(places.map((place) => [place, { serverRelativeURL: `${ROOT}/${place}` }])) };
}

function documentOf(kinds: readonly ResourceKind[]) {
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1.36.2" },
    paths: Object.fromEntries(kinds.map((kind) => [pathOf(kind), operationsOf(kind)])),
    components: { schemas: {} },
  };
}

function pathOf(kind: ResourceKind): string {
  return `/${placeOf(kind)}/${kind.namespaced ? "namespaces/{namespace}/" : ""}${kind.plural}/{name}`;
}

const FIELD_VALIDATION = { name: "fieldValidation", in: "query", schema: { type: "string", uniqueItems: true } };

function operationsOf({ group, version, kind }: ResourceKind) {
  const operation = {
    parameters: [FIELD_VALIDATION],
    "x-kubernetes-group-version-kind": { group, version, kind },
    responses: { "200": { description: "OK" } },
  };
  return {
    patch: { ...operation, "x-kubernetes-action": "patch" },
    put: { ...operation, "x-kubernetes-action": "put" },
  };
}
