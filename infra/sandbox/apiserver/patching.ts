/**
 * PATCH: which format a request's patch is in, and what it makes of the current object.
 * Owns: choosing among the formats, which kinds take which. Does not own: the formats themselves (patch/).
 */
import { type Answer, type ResourceContext } from "./context.ts";
import { checkObject, mediaTypeOf, parseJson } from "./decoding.ts";
import { forbiddenValue } from "./field-errors.ts";
import { type KubeObject, isRecord } from "./objects.ts";
import { readWriteOptions } from "./options.ts";
import { handleApply } from "./patch/apply.ts";
import { applyJsonPatch, readJsonPatch } from "./patch/json.ts";
import { applyMergePatch } from "./patch/merge.ts";
import { applyStrategicPatch } from "./patch/strategic.ts";
import { fieldCheck } from "./schema/check.ts";
import { badRequest, fail } from "./status.ts";
import { modifyObject } from "./updating.ts";

type Change = (current: KubeObject) => unknown;

const FORMATS: Readonly<Record<string, (ctx: ResourceContext) => Change>> = {
  "application/json-patch+json": (ctx) => {
    const operations = readJsonPatch(parseJson(ctx.body.toString()));
    return (current) => applyJsonPatch(current, operations);
  },
  "application/merge-patch+json": (ctx) => {
    const patch = readPatchObject(ctx);
    return (current) => applyMergePatch(current, patch);
  },
  "application/strategic-merge-patch+json": (ctx) => {
    const patch = readPatchObject(ctx);
    return (current) => applyStrategicPatch(current, patch, ctx.kind.lists);
  },
};

const APPLY = "application/apply-patch+yaml";
const STRATEGIC = "application/strategic-merge-patch+json";

export async function handlePatch(ctx: ResourceContext): Promise<Answer> {
  const part = ctx.info.subresource === "status" ? "status" : "main";
  if (mediaTypeOf(ctx) === APPLY) return handleApply(ctx, part);
  const options = readWriteOptions(ctx);
  if (options.force) invalidForce();
  const change = changeOf(ctx);
  const check = await fieldCheck(ctx, options);
  const object = await modifyObject(ctx, {
    part,
    dryRun: options.dryRun,
    change: (current) => {
      const patched = change(current);
      if (!isRecord(patched)) return badRequest("the patch does not leave an object");
      const object = checkObject(ctx, patched);
      check(object);
      return object;
    },
  });
  return { type: "Object", code: 200, object };
}

function invalidForce(): never {
  const kind = { group: "meta.k8s.io", kind: "PatchOptions" };
  const errors = [forbiddenValue("force", "may not be specified for non-apply patch")];
  return fail({ reason: "Invalid", kind, name: "", errors });
}

function changeOf(ctx: ResourceContext): Change {
  const mediaType = mediaTypeOf(ctx);
  const format = FORMATS[mediaType];
  if (format !== undefined && !(ctx.kind.custom && mediaType === STRATEGIC)) return format(ctx);
  return fail({ reason: "UnsupportedMediaType", message: unsupported(ctx) });
}

function unsupported({ kind }: ResourceContext): string {
  if (!kind.custom) return "415: Unsupported Media Type";
  const accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
  return `the body of the request was in an unknown format - accepted media types include: ${accepted}`;
}

function readPatchObject(ctx: ResourceContext): Record<string, unknown> {
  const patch = parseJson(ctx.body.toString());
  return isRecord(patch) ? patch : badRequest("the patch must be an object");
}
