/** PATCH: decodes a patch by its format, and applies it to the current object. */
import { type Answer, type ResourceContext } from "./context.ts";
import { checkObject, mediaTypeOf, parseJson } from "./decoding.ts";
import { invalidValue } from "./field-errors.ts";
import { type Tree, apiVersionOf, isRecord, recordAt } from "./objects.ts";
import { readWriteOptions } from "./options.ts";
import { handleApply } from "./patch/apply.ts";
import { applyJsonPatch, readJsonPatch } from "./patch/json.ts";
import { applyMergePatch } from "./patch/merge.ts";
import { applyStrategicPatch } from "./patch/strategic.ts";
import { fieldCheck } from "./schema/check.ts";
import { badRequest, fail, unsupportedFormat } from "./status.ts";
import { checkName, modifyObject } from "./updating.ts";

type Format = (current: Tree, patch: unknown, ctx: ResourceContext) => unknown;

const FORMATS: Readonly<Record<string, Format>> = {
  "application/json-patch+json": (current, patch) => applyJsonPatch(current, readJsonPatch(patch)),
  "application/merge-patch+json": (current, patch) => applyMergePatch(current, objectIn(patch)),
  "application/strategic-merge-patch+json": (current, patch, { kind }) =>
    applyStrategicPatch(current, objectIn(patch), kind.lists, kind.replacedMaps),
};

const APPLY = "application/apply-patch+yaml";
const STRATEGIC = "application/strategic-merge-patch+json";

export async function handlePatch(ctx: ResourceContext): Promise<Answer> {
  const part = ctx.info.subresource === "status" ? "status" : "main";
  if (mediaTypeOf(ctx) === APPLY) return handleApply(ctx, part);
  const format = formatOf(ctx);
  const options = readWriteOptions(ctx);
  const patch = parseJson(ctx.body.toString());
  const check = await fieldCheck(ctx, options);
  const { kind } = ctx;
  const apiVersion = apiVersionOf(kind.group, kind.version);
  const object = await modifyObject(ctx, {
    part,
    dryRun: options.dryRun,
    change: (current) => {
      const patched = format(current, patch, ctx);
      const refuse = (why: string): never => refusePatched(patched, why);
      if (!isRecord(patched) || patched.kind !== kind.kind || patched.apiVersion !== apiVersion) {
        return refuse(`it cannot be converted to a ${kind.kind}`);
      }
      const object = checkObject(ctx, patched);
      check(object, { refuse });
      checkName(ctx, object);
      return object;
    },
  });
  return { type: "Object", code: 200, object };
}

/** Refuses a patch whose result is not an object of the kind. The message contains the result as Go-style JSON. */
function refusePatched(patched: unknown, why: string): never {
  const { managedFields, ...metadata } = recordAt(patched, "metadata");
  const { metadata: _last, ...rest }: Tree = isRecord(patched) ? patched : {};
  const shown = JSON.stringify({ ...rest, metadata: { ...metadata, managedFields } });
  const errors = [invalidValue("patch", shown, why)];
  return fail({ reason: "Invalid", kind: { group: "", kind: "" }, name: "", errors });
}

function formatOf(ctx: ResourceContext): Format {
  const mediaType = mediaTypeOf(ctx);
  const format = FORMATS[mediaType];
  if (format !== undefined && !(ctx.kind.custom && mediaType === STRATEGIC)) return format;
  if (!ctx.kind.custom) return fail({ reason: "UnsupportedMediaType", message: "415: Unsupported Media Type" });
  return unsupportedFormat("application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml");
}

function objectIn(patch: unknown): Tree {
  if (isRecord(patch)) return patch;
  return badRequest("error decoding patch: json: cannot unmarshal it into Go value of type map[string]interface {}");
}
