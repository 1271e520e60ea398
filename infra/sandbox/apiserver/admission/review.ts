/**
 * AdmissionReview, the question an API server asks a webhook (admission.k8s.io/v1).
 * Owns: its shape and how it is made of a request. Does not own: who is asked (webhooks.ts).
 */
import { randomUUID } from "node:crypto";
import type { ResourceContext } from "../context.ts";
import type { KubeObject } from "../objects.ts";

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

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface GroupVersionResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export function reviewOf(ctx: ResourceContext, subject: AdmissionSubject): AdmissionRequest {
  const { info, kind: resourceKind } = ctx;
  const { group, version, plural: resource } = resourceKind;
  const kind = kindOf(subject.object ?? subject.oldObject) ?? { group, version, kind: resourceKind.kind };
  const { subresource, namespace } = info;
  return {
    uid: randomUUID(),
    kind,
    resource: { group, version, resource },
    ...(subresource !== "" && { subResource: subresource, requestSubResource: subresource }),
    requestKind: kind,
    requestResource: { group, version, resource },
    name: info.name || (subject.object?.metadata.name ?? ""),
    ...(namespace !== "" && { namespace }),
    operation: subject.operation,
    userInfo: ctx.user,
    object: subject.object ?? null,
    oldObject: subject.oldObject ?? null,
    dryRun: subject.dryRun,
    options: subject.options,
  };
}

/** Before creation a generated name is not yet drawn. */
export function nameInRefusal({ info }: ResourceContext, object: KubeObject | null | undefined): string {
  return info.name || object?.metadata.name || object?.metadata.generateName || "Unknown";
}

function kindOf(object: KubeObject | undefined): GroupVersionKind | undefined {
  if (object === undefined) return undefined;
  const [first = "", second] = object.apiVersion.split("/");
  const kind = object.kind;
  return second === undefined ? { group: "", version: first, kind } : { group: first, version: second, kind };
}
