/** POST: creates an object. */
import { randomInt, randomUUID } from "node:crypto";
import { admitNodeTaint } from "./admission/node-taint.ts";
import { admitPriority } from "./admission/priority.ts";
import { requireActiveNamespace } from "./admission/namespace-lifecycle.ts";
import { requireQuota } from "./admission/quota.ts";
import { admitMutating, admitValidating } from "./admission/webhooks.ts";
import { authorize } from "./authorization.ts";
import { type Answer, type ResourceContext, resourceOf, timestamp } from "./context.ts";
import { decodeObject } from "./decoding.ts";
import { refuseEscalation } from "./escalation.ts";
import { trackUpdate } from "./managed-fields.ts";
import type { KubeObject } from "./objects.ts";
import { type WriteOptions, admissionOf, readWriteOptions, writerOf } from "./options.ts";
import { fieldCheck } from "./schema/check.ts";
import type { StoredObject } from "./store.ts";
import { fail } from "./status.ts";
import { validateObject } from "./validation.ts";

export async function handleCreate(ctx: ResourceContext): Promise<Answer> {
  const options = readWriteOptions(ctx);
  const object = decodeObject(ctx);
  const check = await fieldCheck(ctx, options);
  check(object);
  return { type: "Object", code: 201, object: await createObject(ctx, object, options) };
}

export interface CreateOptions extends WriteOptions {
  /** Computes managedFields. By default, the client owns all fields. */
  readonly track?: (object: KubeObject) => void;
}

/** Creates an object. `object` has the API version of the request, and the result has the stored version. */
export async function createObject(
  ctx: ResourceContext,
  object: KubeObject,
  options: CreateOptions,
): Promise<KubeObject | StoredObject> {
  requireActiveNamespace(ctx, object);
  const subject = admissionOf(ctx, options.dryRun);
  const generated = !object.metadata.name;
  const admitted = await admitMutating(ctx, subject(admitPriority(ctx, admitNodeTaint(ctx, object))));
  const stored = prepare(ctx, admitted);
  if (ctx.kind.hasGeneration) stored.metadata.generation = 1;
  if (options.track) options.track(stored);
  else trackUpdate(ctx.kind, stored, { previous: undefined, writer: writerOf(ctx) });
  refuseEscalation(ctx, stored);
  validateObject(ctx.kind, stored, undefined);
  if (ctx.info.verb !== "create") authorize(ctx.state, ctx.user, { ...ctx.info, verb: "create" });
  await admitValidating(ctx, subject(ctx.kind.toServed(stored)));
  requireQuota(ctx, stored);
  return write(ctx, stored, { dryRun: options.dryRun, generated });
}

function prepare(ctx: ResourceContext, served: KubeObject): KubeObject {
  const { kind, state } = ctx;
  const object = kind.toStored(served);
  const { metadata } = object;
  if (metadata.resourceVersion) {
    fail({ reason: "Unclassified", message: "resourceVersion should not be set on objects to be created" });
  }
  for (const field of ["deletionTimestamp", "deletionGracePeriodSeconds", "generation"] as const) {
    delete metadata[field];
  }
  if (metadata.generateName && !metadata.name) metadata.name = generatedName(metadata.generateName);
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(state.now());
  if (kind.hasStatus && !kind.keepsStatusOnCreate) delete object.status;
  kind.applyDefaults(object);
  return object;
}

/**
 * The characters of generated names, from k8s.io/apimachinery/pkg/util/rand. The list has no vowels, and no characters
 * that look alike.
 */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const LONGEST_PREFIX = 58;

function generatedName(prefix: string): string {
  const suffix = Array.from({ length: 5 }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${prefix.slice(0, LONGEST_PREFIX)}${suffix}`;
}

function write(ctx: ResourceContext, object: KubeObject, how: { dryRun: boolean; generated: boolean }) {
  const { kind, collection } = ctx;
  for (;;) {
    const { namespace = "", name = "" } = object.metadata;
    const taken = collection.get({ namespace, name }) !== undefined;
    if (!taken) return how.dryRun ? object : (collection.create(object) ?? object);
    if (!how.generated) return fail({ reason: "AlreadyExists", resource: resourceOf(kind), name });
    object.metadata.name = generatedName(object.metadata.generateName ?? "");
  }
}
