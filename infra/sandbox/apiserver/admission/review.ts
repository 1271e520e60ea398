/** AdmissionReview (admission.k8s.io/v1), the request that an API server sends to a webhook. */
import { randomUUID } from "node:crypto";
import { type ResourceContext, resourceOf } from "../context.ts";
import type { ResourceKind } from "../kinds/kind.ts";
import { type KubeObject, apiVersionOf } from "../objects.ts";
import { type Cause, fail } from "../status.ts";

export interface AdmissionSubject {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly object: KubeObject | undefined;
  readonly oldObject: KubeObject | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
}

export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: GroupVersionKind;
  readonly resource: GroupVersionResource;
  readonly subResource?: string;
  readonly requestKind: GroupVersionKind;
  readonly requestResource: GroupVersionResource;
  readonly requestSubResource?: string;
  readonly name: string;
  readonly namespace?: string;
  readonly operation: string;
  readonly userInfo: unknown;
  readonly object: KubeObject | null;
  readonly oldObject: KubeObject | null;
  readonly dryRun: boolean;
  readonly options: unknown;
}

type GroupVersionKind = Readonly<Record<"group" | "version" | "kind", string>>;
type GroupVersionResource = Readonly<Record<"group" | "version" | "resource", string>>;

/**
 * Makes the request of an AdmissionReview. The version of `kind` can differ from the version of the client's request.
 */
export function reviewOf(ctx: ResourceContext, subject: AdmissionSubject, kind: ResourceKind): AdmissionRequest {
  const { subresource } = ctx.info;
  const states = [subject.object, subject.oldObject];
  const [object = null, oldObject = null] = states.map((one) => one && converted(one, ctx.kind, kind));
  return {
    uid: randomUUID(),
    kind: kindOf([object, oldObject], kind),
    resource: resourceIn(kind),
    ...(subresource !== "" && { subResource: subresource, requestSubResource: subresource }),
    requestKind: kindOf(states, ctx.kind),
    requestResource: resourceIn(ctx.kind),
    ...placeOf(ctx, subject.object),
    operation: subject.operation,
    userInfo: ctx.user,
    object,
    oldObject,
    dryRun: subject.dryRun,
    options: subject.options,
  };
}

/**
 * Returns the name and namespace of the request. For deletecollection, the name is empty. For a Namespace object, both
 * are its name.
 */
function placeOf({ info, kind }: ResourceContext, object: KubeObject | undefined) {
  const name = info.verb === "deletecollection" ? "" : info.name || (object?.metadata.name ?? "");
  const namespace = kind.plural === "namespaces" ? name : info.namespace;
  return { name, ...(namespace !== "" && { namespace }) };
}

/** Returns the name for a refusal message. A new object with `generateName` has no name yet. */
export function nameInRefusal({ info }: ResourceContext, object: KubeObject | null | undefined): string {
  return info.name || object?.metadata.name || object?.metadata.generateName || "Unknown";
}

export function forbid(
  ctx: ResourceContext,
  object: KubeObject | null,
  message: string,
  causes?: readonly Cause[],
): never {
  const name = nameInRefusal(ctx, object);
  return fail({ reason: "Forbidden", resource: resourceOf(ctx.kind), name, message, ...(causes && { causes }) });
}

export function converted(object: KubeObject, from: ResourceKind, to: ResourceKind): KubeObject {
  return from === to ? object : to.toServed(from.toStored(object));
}

function resourceIn({ group, version, plural: resource }: ResourceKind): GroupVersionResource {
  return { group, version, resource };
}

function kindOf(states: readonly (KubeObject | null | undefined)[], { group, version, kind }: ResourceKind) {
  const object = states.find((state) => state) ?? { apiVersion: apiVersionOf(group, version), kind };
  const [ofVersion = "", ofGroup = ""] = object.apiVersion.split("/").toReversed();
  return { group: ofGroup, version: ofVersion, kind: object.kind };
}
