/** Decodes the bytes of a request into an object of the expected kind. */
import { CORE_SCHEMA, boolYaml11Tag, intYaml11Tag, load as loadAs, mergeTag } from "js-yaml";
import type { RequestContext, ResourceContext } from "./context.ts";
import { invalidValue } from "./field-errors.ts";
import { type KubeObject, type Tree, apiVersionOf, isRecord, stringAt, textOf, viewAs } from "./objects.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { badRequest, fail, unsupportedFormat } from "./status.ts";

/** The real server reads YAML 1.1, in which `yes` means true. Timestamps remain strings. */
const YAML = { schema: CORE_SCHEMA.withTags(boolYaml11Tag, intYaml11Tag, mergeTag) };
const load = (text: string): unknown => loadAs(text, YAML);

export function mediaTypeOf(ctx: RequestContext): string {
  return (ctx.headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function parseJson(text: string, refuse = (why: string) => badRequest(`error decoding JSON: ${why}`)): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    const found = /^Unexpected token '(.)'/su.exec(why)?.[1] ?? text[Number(/ position (\d+)/.exec(why)?.[1])];
    if (found === undefined) return refuse("unexpected end of JSON input");
    return refuse(`invalid character '${found}' looking for beginning of value`);
  }
}

export function parseYaml(text: string, refuse = (why: string) => badRequest(`error decoding YAML: ${why}`)): unknown {
  try {
    return load(text);
  } catch (error) {
    return refuse(error instanceof Error ? error.message : "");
  }
}

const FORMATS: Readonly<Record<string, typeof parseJson>> = {
  "application/json": parseJson,
  "application/yaml": parseYaml,
  // The real server reads a body with curl's default content type as JSON.
  "application/x-www-form-urlencoded": parseJson,
};

export function decodeBody(ctx: RequestContext, type = "object"): Tree {
  if (mediaTypeOf(ctx) === "application/vnd.kubernetes.protobuf") return decodeProtobuf(ctx.body);
  const parse = FORMATS[mediaTypeOf(ctx)];
  if (parse === undefined) return unsupportedFormat();
  const refuse = (why: string): never => {
    const what = `couldn't get version/kind; json parse error: ${why} (${summaryOf(ctx.body)})`;
    return badRequest(`the object provided is unrecognized (must be of type ${type}): ${what}`);
  };
  const value = parse(ctx.body.toString(), refuse) ?? {};
  if (isRecord(value)) return value;
  return refuse(`json: cannot unmarshal ${goTypeOf(value)} into Go value of type ${TYPE_META}`);
}

export function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function summaryOf(body: Buffer): string {
  if (body.length === 0) return "<empty>";
  const isObject = body.toString("latin1", 0, 1) === "{";
  return `${body.toString(isObject ? "utf8" : "hex", 0, 30)}${body.length > 30 ? " ..." : ""}`;
}

const TYPE_META = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

/**
 * Returns the paths of fields that occur twice in the body, such as `spec.containers[0].name`. The server uses the last
 * value.
 */
export function duplicateFields(ctx: RequestContext): readonly string[] {
  if (!/json|form/.test(mediaTypeOf(ctx))) return [];
  let count = 0;
  const keepingAll = ctx.body
    .toString()
    .replaceAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g, (text, name: string, colon?: string) =>
      colon === undefined ? text : `"${(count += 1)} ${name}":`,
    );
  return [...new Set(namedTwice(JSON.parse(keepingAll), ""))];
}

function namedTwice(value: unknown, path: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => namedTwice(item, `${path}[${index}]`));
  const seen = new Set<string>();
  return Object.entries(isRecord(value) ? value : {}).flatMap(([numbered, child]) => {
    const at = `${path}${path === "" ? "" : "."}${numbered.slice(numbered.indexOf(" ") + 1)}`;
    const here = seen.has(at) ? [at] : [];
    seen.add(at);
    return [...here, ...namedTwice(child, at)];
  });
}

/** Decodes the object in the body. A missing apiVersion, kind or namespace is taken from the URL. */
export function decodeObject(ctx: ResourceContext): KubeObject {
  return checkObject(ctx, decodeBody(ctx, ctx.kind.kind));
}

export function checkObject(ctx: ResourceContext, value: Tree): KubeObject {
  const { kind, info } = ctx;
  checkType(ctx, value);
  value.metadata ??= {};
  if (!isRecord(value.metadata)) return badRequest("metadata: expected an object");
  dropEmpty(value.metadata);
  const object = viewAs<KubeObject>(value);
  alignNamespace(object, kind.namespaced ? info.namespace : "");
  return object;
}

/** Removes empty lists and maps, because the server does not store them. */
function dropEmpty(meta: Tree): void {
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"]) {
    const value = meta[field];
    if (typeof value === "object" && Object.keys(value ?? {}).length === 0) delete meta[field];
  }
}

function checkType({ kind, state }: ResourceContext, value: Tree): void {
  const expected = apiVersionOf(kind.group, kind.version);
  const apiVersion = textOf((value.apiVersion ||= expected));
  const given = textOf((value.kind ||= kind.kind));
  const refuse = (why: string): never =>
    badRequest(`${given} in version "${apiVersion.split("/").at(-1)}" cannot be handled as a ${kind.kind}: ${why}`);
  // The body of a subresource has its own kind, for example Eviction.
  if (apiVersion === expected && given === kind.kind) return;
  if (!kind.custom && state.kinds.ofObject(apiVersion, given) === undefined) {
    refuse(`no kind "${given}" is registered for version "${apiVersion}" in scheme "${SCHEME}"`);
  }
  if (given !== kind.kind && kind.custom) {
    const errors = [invalidValue("kind", given, `must be ${kind.kind}`)];
    fail({ reason: "Invalid", kind: { ...kind, kind: given }, name: stringAt(value, "metadata.name"), errors });
  }
  if (given !== kind.kind) refuse("unknown conversion");
  badRequest(`the API version in the data (${apiVersion}) does not match the expected API version (${expected})`);
}

/** Some messages of the real server contain this source location. */
const SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30";

function alignNamespace(object: KubeObject, namespace: string): void {
  const { metadata } = object;
  metadata.namespace ||= namespace;
  if (metadata.namespace !== namespace) {
    badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (namespace === "") delete metadata.namespace;
}
