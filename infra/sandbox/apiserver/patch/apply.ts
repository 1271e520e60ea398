/**
 * Server-side apply: a client says what it wants of an object, the server remembers and merges.
 * Owns: reading the configuration, merging it, dropping what the client no longer wants. Does not own: ownership and
 * conflicts (managed-fields.ts).
 */
import { type Answer, type ResourceContext, timestamp } from "../context.ts";
import { createObject } from "../creation.ts";
import { checkObject, parseYaml } from "../decoding.ts";
import { requiredValue } from "../field-errors.ts";
import { fieldsOf, hasBelow, mergeFields, minus, removeFields } from "../fields.ts";
import { type Writer, ownable, ownedBy, trackApply } from "../managed-fields.ts";
import { type KubeObject, apiVersionOf, isRecord, viewAs } from "../objects.ts";
import { type WriteOptions, readWriteOptions } from "../options.ts";
import { fieldCheck } from "../schema/check.ts";
import { badRequest, fail } from "../status.ts";
import { type Part, modifyObject } from "../updating.ts";

export async function handleApply(ctx: ResourceContext, part: Part): Promise<Answer> {
  const options = readWriteOptions(ctx);
  const writer = writerOf(ctx);
  const config = readConfiguration(ctx);
  const check = await fieldCheck(ctx, options);
  check(config);
  const fields = fieldsOf(config, ctx.kind);
  if (ctx.collection.get(ctx.info) === undefined && part === "main") return create(ctx, config, { options, writer });
  const object = await modifyObject(ctx, {
    part,
    dryRun: options.dryRun,
    change: (live) => mergeInto(ctx, live, { config, writer }),
    track: (merged, previous) => trackApply(ctx.kind, merged, { previous, writer, fields, force: options.force }),
  });
  return { type: "Object", code: 200, object };
}

async function create(
  ctx: ResourceContext,
  config: KubeObject,
  { options, writer }: { options: WriteOptions; writer: Writer },
): Promise<Answer> {
  const fields = fieldsOf(config, ctx.kind);
  const track = (object: KubeObject): void => {
    const previous: KubeObject = { apiVersion: object.apiVersion, kind: object.kind, metadata: {} };
    trackApply(ctx.kind, object, { previous, writer, fields, force: true });
  };
  const object = await createObject(ctx, structuredClone(config), { ...options, track });
  return { type: "Object", code: 201, object };
}

function writerOf(ctx: ResourceContext): Writer {
  const manager = ctx.info.query.get("fieldManager");
  if (!manager) {
    const kind = { group: "meta.k8s.io", kind: "PatchOptions" };
    const errors = [requiredValue("fieldManager", "is required for apply patch")];
    return fail({ reason: "Invalid", kind, name: "", errors });
  }
  const { group, version } = ctx.kind;
  const time = timestamp(ctx.state.now());
  return {
    manager,
    operation: "Apply",
    apiVersion: apiVersionOf(group, version),
    subresource: ctx.info.subresource,
    time,
  };
}

function readConfiguration(ctx: ResourceContext): KubeObject {
  const value = parseYaml(ctx.body.toString());
  if (!isRecord(value)) return badRequest("the applied configuration must be an object");
  const config = checkObject(ctx, viewAs(withoutNulls(value)));
  if (config.metadata.managedFields !== undefined) badRequest("metadata.managedFields must be nil");
  const { name } = ctx.info;
  if ((config.metadata.name ??= name) !== name) {
    badRequest(`the name of the object (${config.metadata.name}) does not match the name on the URL (${name})`);
  }
  return config;
}

/** A null asks for nothing. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([, child]) => child !== null);
  return Object.fromEntries(entries.map(([key, child]) => [key, withoutNulls(child)]));
}

/** What this client applied before and does not any more goes, unless somebody else wants it, too. */
function mergeInto(ctx: ResourceContext, live: KubeObject, how: { config: KubeObject; writer: Writer }): KubeObject {
  const { kind } = ctx;
  const { config, writer } = how;
  const { own, others } = ownedBy(live, writer);
  const wanted = ownable(fieldsOf(config, kind));
  const dropped = [...minus(own, wanted)].filter((field) => !hasBelow(others, field) && !hasBelow(wanted, field));
  const kept = removeFields(live, new Set(dropped), kind);
  return viewAs(mergeFields(kept, structuredClone(config), kind));
}
