/** OpenAPI v3, which kubectl reads for validation, apply and explain. */
import type { Answer, RequestContext } from "../context.ts";
import { versionsOf } from "../discovery.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { apiVersionOf, recordAt } from "../objects.ts";
import { fail } from "../status.ts";
import {
  type Documentation,
  type FieldType,
  type Model,
  type Models,
  loadDocumentation,
  loadModels,
} from "./models.ts";

const ROOT = "/openapi/v3";

export async function openApiDocument(ctx: RequestContext): Promise<Answer> {
  const { path } = ctx.info;
  if (path === ROOT) return { type: "Document", code: 200, body: index(ctx) };
  const kinds = ctx.state.kinds.all().filter((kind) => `${ROOT}/${placeOf(kind)}` === path);
  if (kinds.length === 0) return fail({ reason: "PageNotFound" });
  return { type: "Document", code: 200, body: await documentOf(kinds) };
}

function placeOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? `api/${version}` : `apis/${apiVersionOf(group, version)}`;
}

function index(ctx: RequestContext) {
  const places = versionsOf(ctx).map(placeOf);
  return { paths: Object.fromEntries(places.map((place) => [place, { serverRelativeURL: `${ROOT}/${place}` }])) };
}

async function documentOf(kinds: readonly ResourceKind[]) {
  const models = new Map<string, Model>();
  const lists = new Map<string, readonly string[]>();
  for (const kind of kinds) {
    await loadModels(kind.model ?? "V1ObjectMeta", models);
    if (kind.model === undefined) continue;
    for (const [path, keys] of Object.entries(kind.lists)) lists.set(fieldAtPath(models, kind.model, path), keys);
  }
  const schemas: Record<string, object> = {};
  for (const [name, model] of models)
    schemas[schemaName(name)] = schemaOf(name, model, { lists, documentation: await loadDocumentation(name) });
  const { fields } = await loadDocumentation(ANY_MODEL);
  for (const kind of kinds)
    Object.assign(schemas, { [nameOf(kind)]: { ...schemas[nameOf(kind)], ...identityOf(kind, fields) } });
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1.36.2" },
    paths: Object.fromEntries(kinds.map((kind) => [pathOf(kind), operationsOf(kind)])),
    components: { schemas },
  };
}

function nameOf({ model, kind, group, version }: ResourceKind): string {
  const domain = group.split(".").toReversed().join(".");
  return model === undefined ? `${domain}.${version}.${kind}` : schemaName(model);
}

/** Returns the name of a model's schema. kubectl explain shows the last part of the name. */
function schemaName(model: string): string {
  return `io.k8s.${model.replace(/^[A-Za-z]*?V\d+(?=[A-Z])/, "")}`;
}

/** This model supplies the descriptions of apiVersion and kind, which are the same in all models. */
const ANY_MODEL = "V1ConfigMap";
const CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const METADATA = `Standard object's metadata. More info: ${CONVENTIONS}#metadata`;

function identityOf({ group, version, kind, schema }: ResourceKind, documented: Documentation["fields"]) {
  const field = (name: string, type: object) => ({ [name]: { description: documented[name] ?? METADATA, ...type } });
  const common = {
    ...field("apiVersion", { type: "string" }),
    ...field("kind", { type: "string" }),
    ...field("metadata", typeOf({ of: "model", name: "V1ObjectMeta" }, "")),
  };
  const properties = schema && { properties: { ...recordAt(schema, "properties"), ...common } };
  return { ...schema, ...properties, "x-kubernetes-group-version-kind": [{ group, version, kind }] };
}

function fieldAtPath(models: Models, root: string, path: string): string {
  const keys = path.split(".");
  const last = keys.pop();
  const owner = keys.reduce((model, key) => modelBelow(models.get(model)?.get(key)?.type), root);
  return `${owner}.${last}`;
}

function modelBelow(type: FieldType | undefined): string {
  if (type?.of === "model") return type.name;
  return type?.of === "list" || type?.of === "map" ? modelBelow(type.items) : "";
}

interface Extras {
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly documentation: Documentation;
}

function schemaOf(name: string, model: Model, { lists, documentation }: Extras) {
  const properties = [...model.values()].map((field) => {
    const keys = lists.get(`${name}.${field.name}`);
    const description = documentation.fields[field.name] ?? "";
    return [field.name, { description, ...typeOf(field.type, field.format), ...(keys && mergeOf(keys)) }];
  });
  return { type: "object", description: documentation.description, properties: Object.fromEntries(properties) };
}

function mergeOf(keys: readonly string[]) {
  const [key] = keys;
  if (key === undefined) return { "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge" };
  return {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": keys,
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": key,
  };
}

function typeOf(type: FieldType, format: string): object {
  if (type.of === "model") return { allOf: [{ $ref: `#/components/schemas/${schemaName(type.name)}` }], default: {} };
  if (type.of === "list") return { type: "array", items: typeOf(type.items, format) };
  if (type.of === "map") return { type: "object", additionalProperties: typeOf(type.items, format) };
  if (type.of === "intOrString") return { oneOf: [{ type: "integer" }, { type: "string" }], format };
  if (type.of === "any") return { type: "object" };
  if (type.of === "number") return { type: format === "double" ? "number" : "integer", format };
  return { type: type.of, ...(format !== "" && { format }) };
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
