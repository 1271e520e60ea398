/** Server-side apply. The server merges the fields that a client manages into the object. */
import { type Answer, type ResourceContext, resourceOf } from "../context.ts";
import { createObject } from "../creation.ts";
import { checkObject, parseYaml } from "../decoding.ts";
import { type FieldSet, fieldsOf, hasBelow, mergeFields, minus, removeFields } from "../fields.ts";
import { type Writer, ownable, ownedBy, trackUpdate } from "../managed-fields.ts";
import { type KubeObject, isRecord, stringAt, textOf, viewAs } from "../objects.ts";
import { readWriteOptions, writerOf } from "../options.ts";
import { type FieldCheck, fieldCheck } from "../schema/check.ts";
import { badRequest, fail } from "../status.ts";
import { type Part, checkName, modifyObject } from "../updating.ts";

export async function handleApply(ctx: ResourceContext, part: Part): Promise<Answer> {
  const options = readWriteOptions(ctx);
  const writer = writerOf(ctx, "Apply");
  const config = readConfiguration(ctx, await fieldCheck(ctx, options));
  const applied = { fields: appliedFields(ctx, config, part), force: options.force };
  if (ctx.collection.get(ctx.info) === undefined && part === "main") {
    refuseIdentity(ctx, config);
    const track = (object: KubeObject): void =>
      trackUpdate(ctx.kind, object, { previous: undefined, writer, applied: { ...applied, force: true } });
    return { type: "Object", code: 201, object: await createObject(ctx, config, { ...options, track }) };
  }
  const object = await modifyObject(ctx, {
    part,
    dryRun: options.dryRun,
    change: (live) => mergeInto(ctx, live, { config, writer }),
    track: (merged, previous) => trackUpdate(ctx.kind, merged, { previous, writer, applied }),
  });
  return { type: "Object", code: 200, object };
}

/**
 * Refuses a configuration for a new object if its name differs from the name in the URL, or if it has a UID. Removes
 * the resourceVersion from the configuration.
 */
function refuseIdentity(ctx: ResourceContext, config: KubeObject): void {
  checkName(ctx, config);
  const { uid } = config.metadata;
  const message = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`;
  if (uid) fail({ reason: "Conflict", resource: resourceOf(ctx.kind), name: ctx.info.name, message });
  delete config.metadata.resourceVersion;
}

/** Returns the applied fields that the request can change. The client becomes the owner of only these fields. */
function appliedFields({ kind }: ResourceContext, config: KubeObject, part: Part): FieldSet {
  const ignored = part === "main" ? /^f:status\b/ : kind.custom ? /^f:(spec|metadata)\b/ : /^f:spec\b/;
  if (part === "main" && !kind.hasStatus) return fieldsOf(config, kind);
  return new Set([...fieldsOf(config, kind)].filter((field) => !ignored.test(field)));
}

function readConfiguration(ctx: ResourceContext, check: FieldCheck): KubeObject {
  const value = parseYaml(ctx.body.toString());
  if (!isRecord(value)) return badRequest("error decoding patch: json: cannot unmarshal it into an object");
  const { kind, group, version } = ctx.kind;
  const [ofVersion, ofGroup = ""] = textOf(value.apiVersion).split("/").toReversed();
  const type = `${ofGroup}/${ofVersion}, Kind=${textOf(value.kind)}`;
  if (type !== `${group}/${version}, Kind=${kind}`) badRequest(`invalid object type: ${type}`);
  const config = viewAs<KubeObject>(withoutNulls(value));
  const place = `${stringAt(config, "metadata.namespace")}/${stringAt(config, "metadata.name")}`;
  const refuse = (why: string): never =>
    fail({ reason: "Unclassified", message: `failed to create typed patch object (${place}; ${type}): ${why}` });
  check(config, { applied: true, refuse });
  if (config.metadata?.managedFields !== undefined) badRequest("metadata.managedFields must be nil");
  checkObject(ctx, config);
  if (config.metadata.name) checkName(ctx, config);
  return config;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([, child]) => child !== null);
  return Object.fromEntries(entries.map(([key, child]) => [key, withoutNulls(child)]));
}

/** Merges the configuration into the object. Removes fields that are no longer applied and that nobody else owns. */
function mergeInto(ctx: ResourceContext, live: KubeObject, how: { config: KubeObject; writer: Writer }): KubeObject {
  const { kind } = ctx;
  const { config, writer } = how;
  const { own, others } = ownedBy(live, writer);
  const wanted = ownable(fieldsOf(config, kind));
  const dropped = [...minus(own, wanted)].filter((field) => !hasBelow(others, field) && !hasBelow(wanted, field));
  const kept = removeFields(live, new Set(dropped), kind);
  return viewAs(mergeFields(kept, structuredClone(config), kind));
}
