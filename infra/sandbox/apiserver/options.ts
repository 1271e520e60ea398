/** The options of a request, from its query or its DeleteOptions body. */
import type { AdmissionSubject } from "./admission/review.ts";
import { type RequestContext, type ResourceContext, timestamp } from "./context.ts";
import { decodeBody, mediaTypeOf } from "./decoding.ts";
import { forbiddenValue, invalidValue, requiredValue, tooLongValue, unsupportedValue } from "./field-errors.ts";
import type { Writer } from "./managed-fields.ts";
import { type KubeObject, apiVersionOf, textOf, viewAs } from "./objects.ts";
import { checkFields } from "./schema/check.ts";
import { type FieldError, badRequest, fail } from "./status.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldValidation: "Ignore" | "Warn" | "Strict";
  readonly force: boolean;
}

export interface DeleteOptions {
  gracePeriodSeconds?: number;
  preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  propagationPolicy?: "Orphan" | "Background" | "Foreground";
  orphanDependents?: boolean;
  dryRun?: readonly string[];
}

export function readWriteOptions(ctx: RequestContext): WriteOptions {
  const { query, verb } = ctx.info;
  const kind = `${verb.charAt(0).toUpperCase()}${verb.slice(1)}Options`;
  for (const error of [...patchErrors(ctx), ...managerErrors(query.get("fieldManager") ?? "")]) refuse(kind, error);
  const validation = query.get("fieldValidation") || "Warn";
  if (validation !== "Ignore" && validation !== "Warn" && validation !== "Strict") {
    return invalidOption(kind, "fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]);
  }
  return {
    dryRun: readDryRun(kind, query.getAll("dryRun")),
    fieldValidation: validation,
    force: isTrue(query.get("force")),
  };
}

function invalidOption(kind: string, field: string, value: unknown, supported: readonly string[]): never {
  return refuse(kind, unsupportedValue(field, value, supported));
}

function refuse(kind: string, ...errors: readonly FieldError[]): never {
  return fail({ reason: "Invalid", kind: { group: "meta.k8s.io", kind }, name: "", errors });
}

function patchErrors(ctx: RequestContext): readonly FieldError[] {
  const { query, verb } = ctx.info;
  const isApply = mediaTypeOf(ctx) === "application/apply-patch+yaml";
  if (verb !== "patch" || (isApply ? query.get("fieldManager") : !query.has("force"))) return [];
  if (isApply) return [requiredValue("fieldManager", "is required for apply patch")];
  return [forbiddenValue("force", "may not be specified for non-apply patch")];
}

const MANAGER_LIMIT = 128;

function managerErrors(manager: string): readonly FieldError[] {
  if (Buffer.byteLength(manager) > MANAGER_LIMIT) return [tooLongValue("fieldManager", MANAGER_LIMIT)];
  const at = manager.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
  const code = manager.codePointAt(at)?.toString(16).toUpperCase().padStart(4, "0");
  return at === -1 ? [] : [invalidValue("fieldManager", manager, `invalid character U+${code} (at position ${at})`)];
}

export function readDryRun(kind: string, values: readonly string[]): boolean {
  if (values.some((value) => value !== "All")) invalidOption(kind, "dryRun", values, ["All"]);
  return values.length > 0;
}

/**
 * Returns a function that makes the subject of an AdmissionReview from an object. Uses UpdateOptions if `oldObject` is
 * set. Otherwise uses CreateOptions.
 */
export function admissionOf({ info: { query } }: RequestContext, dryRun: boolean, oldObject?: KubeObject) {
  const given = [...query].filter(
    ([name, value]) => ["fieldManager", "fieldValidation"].includes(name) && value !== "",
  );
  const [operation, kind] = oldObject ? (["UPDATE", "UpdateOptions"] as const) : (["CREATE", "CreateOptions"] as const);
  const asked = query.has("dryRun") && { dryRun: query.getAll("dryRun") };
  const options = { kind, apiVersion: "meta.k8s.io/v1", ...asked, ...Object.fromEntries(given) };
  return (object: KubeObject): AdmissionSubject => ({ operation, object, oldObject, options, dryRun });
}

export function writerOf(ctx: ResourceContext, operation: Writer["operation"] = "Update"): Writer {
  const { kind, info, state } = ctx;
  return {
    manager: info.query.get("fieldManager") || defaultManager(ctx),
    operation,
    apiVersion: apiVersionOf(kind.group, kind.version),
    subresource: info.subresource,
    time: timestamp(state.now()),
  };
}

/** Returns the default field manager. It is the part of the user agent before the first slash. */
function defaultManager(ctx: RequestContext): string {
  return ctx.headers["user-agent"]?.split("/")[0]?.slice(0, MANAGER_LIMIT) || "unknown";
}

/** Reads the options of a deletion from the request's body. If there is no body, reads them from the query. */
export async function readDeleteOptions(ctx: RequestContext): Promise<DeleteOptions & { readonly isDryRun: boolean }> {
  const options = ctx.body.length > 0 ? await optionsFromBody(ctx) : optionsFromQuery(ctx.info.query);
  const { propagationPolicy: policy, orphanDependents } = options;
  const kind = "DeleteOptions";
  if (policy !== undefined && orphanDependents !== undefined) refuse(kind, invalidValue(POLICY, policy, BOTH));
  if (policy !== undefined && !POLICIES.includes(policy)) invalidOption(kind, POLICY, policy, [...POLICIES, "nil"]);
  return { ...options, isDryRun: readDryRun(kind, options.dryRun ?? []) };
}

const POLICY = "propagationPolicy";
const POLICIES = ["Foreground", "Background", "Orphan"];
const BOTH = "orphanDependents and deletionPropagation cannot be both set";

async function optionsFromBody(ctx: RequestContext): Promise<DeleteOptions> {
  const { apiVersion = "meta.k8s.io/v1", kind = "DeleteOptions", ...options } = decodeBody(ctx);
  if (kind !== "DeleteOptions") {
    const scheme = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";
    badRequest(`no kind "${textOf(kind)}" is registered for version "${textOf(apiVersion)}" in scheme "${scheme}"`);
  }
  await checkFields(options, "V1DeleteOptions");
  return viewAs(options);
}

function optionsFromQuery(query: URLSearchParams): DeleteOptions {
  const [grace, orphan, policy, uid, resourceVersion] = QUERY.map((name) => query.get(name) ?? undefined);
  return {
    ...(query.has("dryRun") && { dryRun: query.getAll("dryRun") }),
    ...(grace !== undefined && { gracePeriodSeconds: integerIn(grace) }),
    ...(orphan !== undefined && { orphanDependents: isTrue(orphan) }),
    ...(policy !== undefined && { propagationPolicy: viewAs<"Orphan">(policy) }),
    ...((uid || resourceVersion) && { preconditions: viewAs<object>({ uid, resourceVersion }) }),
  };
}

const QUERY = ["gracePeriodSeconds", "orphanDependents", POLICY, "uid", "resourceVersion"];

function integerIn(text: string): number {
  const refuse = (why: string): never => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[-+]?\d+$/.test(text)) refuse("invalid syntax");
  return Math.abs(Number(text)) < 2 ** 63 ? Number(text) : refuse("value out of range");
}

/** Parses a flag in a query. Every value except 0 and false means true, as in the real server. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

export type ListOptions = ReturnType<typeof readListOptions>;

const MATCH = "resourceVersionMatch";

export function readListOptions(query: URLSearchParams, of: "list" | "watch") {
  integerIn(query.get("timeoutSeconds") ?? "0");
  const limit = integerIn(query.get("limit") ?? "0");
  const text = (name: string): string => query.get(name) ?? "";
  const [token, version, match] = [text("continue"), text("resourceVersion"), text(MATCH)] as const;
  const initial = query.has("sendInitialEvents") ? isTrue(query.get("sendInitialEvents")) : undefined;
  const forbidden = (why: string) => forbiddenValue(MATCH, why);
  const whileListing = () => [
    match && !version && forbidden(`${MATCH} is forbidden unless resourceVersion is provided`),
    match && token && forbidden(`${MATCH} is forbidden when continue is provided`),
    match && !/^(Exact|NotOlderThan)$/.test(match) && unsupportedValue(MATCH, match, ["Exact", "NotOlderThan", ""]),
    match === "Exact" && version === "0" && forbidden(`${MATCH} "exact" is forbidden for resourceVersion "0"`),
    initial !== undefined && forbiddenValue("sendInitialEvents", "sendInitialEvents is forbidden for list"),
  ];
  const [asked, wrong] = [initial !== undefined, match !== "NotOlderThan"];
  const whileWatching = () => [
    asked && wrong && forbidden(`sendInitialEvents requires setting ${MATCH} to NotOlderThan`),
    match && !asked && forbidden(`${MATCH} is forbidden for watch unless sendInitialEvents is provided`),
    match && wrong && unsupportedValue(MATCH, match, ["NotOlderThan"]),
    match && token && forbidden(`${MATCH} is forbidden when continue is provided`),
  ];
  const errors = (of === "list" ? whileListing() : whileWatching()).filter((error) => typeof error === "object");
  if (errors.length > 0) refuse("ListOptions", ...errors);
  return { limit, token, version, match, initial };
}
