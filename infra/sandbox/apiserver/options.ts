/**
 * The options that a write carries in its query, or in a DeleteOptions body.
 * Owns: reading and checking them. Does not own: what they change.
 */
import { type RequestContext, type ResourceContext, timestamp } from "./context.ts";
import { decodeBody } from "./decoding.ts";
import { unsupportedValue } from "./field-errors.ts";
import type { Writer } from "./managed-fields.ts";
import { apiVersionOf, viewAs } from "./objects.ts";
import { badRequest, fail } from "./status.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  readonly force: boolean;
}

export interface DeleteOptions {
  gracePeriodSeconds?: number | null;
  preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | null;
  propagationPolicy?: "Orphan" | "Background" | "Foreground" | null;
  orphanDependents?: boolean | null;
  dryRun?: readonly string[] | null;
}

const OPTIONS_KIND: Readonly<Record<string, string>> = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
  delete: "DeleteOptions",
  deletecollection: "DeleteOptions",
};

export function readWriteOptions(ctx: RequestContext): WriteOptions {
  const { query, verb } = ctx.info;
  const kind = OPTIONS_KIND[verb] ?? "CreateOptions";
  const validation = query.get("fieldValidation") || "Warn";
  if (validation !== "Ignore" && validation !== "Warn" && validation !== "Strict") {
    return invalidOption(kind, "fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]);
  }
  return {
    dryRun: readDryRun(kind, query.getAll("dryRun")),
    fieldValidation: validation,
    force: query.get("force") === "true",
  };
}

function invalidOption(kind: string, field: string, value: unknown, supported: readonly string[]): never {
  const options = { group: "meta.k8s.io", kind };
  return fail({ reason: "Invalid", kind: options, name: "", errors: [unsupportedValue(field, value, supported)] });
}

function readDryRun(kind: string, values: readonly string[]): boolean {
  if (values.some((value) => value !== "All")) invalidOption(kind, "dryRun", values, ["All"]);
  return values.length > 0;
}

/** As whom a request that is no apply owns the fields it changes. */
export function writerOf(ctx: ResourceContext): Writer {
  const { kind, info, state } = ctx;
  return {
    manager: info.query.get("fieldManager") || defaultManager(ctx),
    operation: "Update",
    apiVersion: apiVersionOf(kind.group, kind.version),
    subresource: info.subresource,
    time: timestamp(state.now()),
  };
}

/** The real server, too, falls back on the first word of the user agent. */
function defaultManager(ctx: RequestContext): string {
  return ctx.headers["user-agent"]?.split("/")[0] || "unknown";
}

/** The body wins over the query, as a whole. */
export function readDeleteOptions(ctx: RequestContext): DeleteOptions & { readonly isDryRun: boolean } {
  const { query } = ctx.info;
  const options = ctx.body.length > 0 ? (decodeBody(ctx) as DeleteOptions) : optionsFromQuery(query);
  if (options.propagationPolicy && typeof options.orphanDependents === "boolean") {
    badRequest("orphanDependents and deletionPropagation cannot be both set");
  }
  const dryRun = [...(options.dryRun ?? []), ...(ctx.body.length > 0 ? query.getAll("dryRun") : [])];
  return { ...options, isDryRun: readDryRun("DeleteOptions", dryRun) };
}

function optionsFromQuery(query: URLSearchParams): DeleteOptions {
  const grace = query.get("gracePeriodSeconds");
  const policy = query.get("propagationPolicy");
  return {
    dryRun: query.getAll("dryRun"),
    ...(grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(policy !== null && { propagationPolicy: viewAs<"Orphan">(policy) }),
  };
}
