/**
 * From the bytes of a request to an object of the expected kind.
 * Owns: accepted body formats, the checks that body and URL agree. Does not own: the fields of a kind (schema.ts).
 */
import { load } from "js-yaml";
import type { RequestContext, ResourceContext } from "./context.ts";
import { type KubeObject, apiVersionOf, isRecord, textOf, viewAs } from "./objects.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { badRequest, fail } from "./status.ts";

export function mediaTypeOf(ctx: RequestContext): string {
  return (ctx.headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return badRequest(`the body of the request is not JSON: ${error instanceof Error ? error.message : ""}`);
  }
}

export function parseYaml(text: string): unknown {
  try {
    return load(text);
  } catch (error) {
    return badRequest(`error decoding YAML: ${error instanceof Error ? error.message : ""}`);
  }
}

const FORMATS: Readonly<Record<string, (text: string) => unknown>> = {
  "application/json": parseJson,
  "application/yaml": parseYaml,
  // curl's default: the real server, too, then takes the body for JSON.
  "application/x-www-form-urlencoded": parseJson,
};

export function decodeBody(ctx: RequestContext): Record<string, unknown> {
  if (mediaTypeOf(ctx) === "application/vnd.kubernetes.protobuf") return decodeProtobuf(ctx.body);
  const parseText = FORMATS[mediaTypeOf(ctx)];
  if (parseText === undefined) {
    const accepted = "application/json, application/yaml";
    return fail({
      reason: "UnsupportedMediaType",
      message: `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
    });
  }
  const value = parseText(ctx.body.toString());
  return isRecord(value) ? value : badRequest("the object provided is unrecognized: the body must be an object");
}

/** The object in the body, with the apiVersion, kind and namespace that the URL says. */
export function decodeObject(ctx: ResourceContext): KubeObject {
  return checkObject(ctx, decodeBody(ctx));
}

export function checkObject(ctx: ResourceContext, value: Record<string, unknown>): KubeObject {
  const { kind, info } = ctx;
  const apiVersion = apiVersionOf(kind.group, kind.version);
  value.apiVersion ??= apiVersion;
  value.kind ??= kind.kind;
  if (value.kind !== kind.kind) {
    badRequest(`${textOf(value.kind)} in version "${textOf(value.apiVersion)}" cannot be handled as a ${kind.kind}`);
  }
  if (value.apiVersion !== apiVersion) {
    badRequest(
      `the API version in the data (${textOf(value.apiVersion)}) does not match the expected API version (${apiVersion})`,
    );
  }
  if (value.metadata === null || value.metadata === undefined) value.metadata = {};
  if (!isRecord(value.metadata)) badRequest("metadata: expected an object");
  const object = viewAs<KubeObject>(value);
  alignNamespace(object, kind.namespaced ? info.namespace : "");
  return object;
}

function alignNamespace(object: KubeObject, namespace: string): void {
  const { metadata } = object;
  metadata.namespace ||= namespace;
  if (metadata.namespace !== namespace) {
    badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (namespace === "") delete metadata.namespace;
}
