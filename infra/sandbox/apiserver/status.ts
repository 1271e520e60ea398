/**
 * Everything that can be wrong with a request, and how the client is told.
 * Owns: the union of failures and its one renderer, with the real server's codes, reasons and messages.
 * Does not own: when each happens.
 */
import { type GroupResource, qualified } from "./objects.ts";

export interface Cause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

export interface FieldError {
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

interface Named {
  readonly resource: GroupResource;
  readonly name: string;
}

export type Failure =
  | ({ readonly reason: "NotFound" | "AlreadyExists" } & Named)
  | ({ readonly reason: "Conflict"; readonly message: string } & Named)
  | ({ readonly reason: "Forbidden"; readonly message: string; readonly causes?: readonly Cause[] } & Named)
  | { readonly reason: "NonResourceForbidden"; readonly message: string }
  | {
      readonly reason: "Invalid";
      readonly kind: { readonly group: string; readonly kind: string };
      readonly name: string;
      readonly errors: readonly FieldError[];
    }
  | { readonly reason: "PatchRejected" }
  | { readonly reason: "ApplyConflict"; readonly message: string; readonly causes: readonly Cause[] }
  | { readonly reason: "Unauthorized" }
  | { readonly reason: "BadRequest"; readonly message: string }
  | { readonly reason: "MethodNotAllowed" }
  | { readonly reason: "NotAcceptable"; readonly accepted: string }
  | { readonly reason: "UnsupportedMediaType"; readonly message: string }
  | { readonly reason: "RequestEntityTooLarge"; readonly limit: number }
  | { readonly reason: "Expired"; readonly message: string; readonly continue?: string }
  | { readonly reason: "TooLargeResourceVersion"; readonly asked: number; readonly current: number }
  | { readonly reason: "DisruptionBudget"; readonly message: string; readonly retryAfterSeconds?: number }
  | { readonly reason: "TooManyRequests"; readonly message: string; readonly retryAfterSeconds: number }
  | { readonly reason: "WebhookDenied"; readonly message: string; readonly status: DenialStatus }
  | { readonly reason: "WebhookFailed"; readonly message: string }
  | { readonly reason: "InternalError"; readonly message: string }
  /** An error of the server that it does not classify: 500 without a reason. */
  | { readonly reason: "Unclassified"; readonly message: string }
  | { readonly reason: "ServiceUnavailable"; readonly message: string }
  /** Something the real server can and this one cannot. */
  | { readonly reason: "NotImplemented"; readonly message: string }
  | { readonly reason: "NoSuchResource" }
  | { readonly reason: "PageNotFound" };

export interface DenialStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly details?: unknown;
}

/** Carries a failure from wherever it is found to the pipeline, which renders it. */
export class RequestFailure extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(`${failure.reason}: ${"message" in failure ? failure.message : ""}`);
    this.failure = failure;
  }
}

export function fail(failure: Failure): never {
  throw new RequestFailure(failure);
}

export function badRequest(message: string): never {
  return fail({ reason: "BadRequest", message });
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly code: number;
}

interface Outcome {
  readonly code: number;
  readonly reason?: string;
  readonly message: string;
  readonly details?: unknown;
  readonly continue?: string;
}

export function toStatus(failure: Failure): Status {
  const { continue: token, code, ...rest } = outcome(failure);
  const metadata = token === undefined ? {} : { continue: token };
  return { kind: "Status", apiVersion: "v1", metadata, status: "Failure", ...rest, code };
}

const REJECTED = "the server rejected our request due to an error in our request";
const NOT_ALLOWED = "the server does not allow this method on the requested resource";

// One arm for each reason: the switch is the table of all error answers.
// oxlint-disable-next-line complexity
function outcome(f: Failure): Outcome {
  switch (f.reason) {
    case "NotFound":
      return named(404, f, `${qualified(f.resource)} "${f.name}" not found`);
    case "AlreadyExists":
      return named(409, f, `${qualified(f.resource)} "${f.name}" already exists`);
    case "Conflict":
      return named(409, f, `Operation cannot be fulfilled on ${qualified(f.resource)} "${f.name}": ${f.message}`);
    case "Forbidden":
      return named(403, f, `${qualified(f.resource)}${f.name === "" ? "" : ` "${f.name}"`} is forbidden: ${f.message}`);
    case "NonResourceForbidden":
      return { code: 403, reason: "Forbidden", message: `forbidden: ${f.message}`, details: {} };
    case "Invalid":
      return invalid(f);
    case "PatchRejected":
      return { code: 422, reason: "Invalid", message: REJECTED, details: {} };
    case "ApplyConflict":
      return { code: 409, reason: "Conflict", message: f.message, details: { causes: f.causes } };
    case "Unauthorized":
      return { code: 401, reason: "Unauthorized", message: "Unauthorized" };
    case "BadRequest":
      return { code: 400, reason: "BadRequest", message: f.message };
    case "MethodNotAllowed":
      return { code: 405, reason: f.reason, message: NOT_ALLOWED, details: {} };
    case "NotAcceptable":
      return { code: 406, reason: f.reason, message: `only the following media types are accepted: ${f.accepted}` };
    case "UnsupportedMediaType":
      return { code: 415, reason: "UnsupportedMediaType", message: f.message };
    case "RequestEntityTooLarge":
      return { code: 413, reason: f.reason, message: `Request entity too large: limit is ${f.limit}` };
    case "Expired":
      return { code: 410, reason: "Expired", message: f.message, ...(f.continue && { continue: f.continue }) };
    case "TooLargeResourceVersion":
      return {
        code: 504,
        reason: "Timeout",
        message: `Timeout: Too large resource version: ${f.asked}, current: ${f.current}`,
        details: {
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
          retryAfterSeconds: 1,
        },
      };
    case "DisruptionBudget":
      return disruptionBudget(f);
    case "TooManyRequests":
      return { code: 429, reason: f.reason, message: f.message, details: { retryAfterSeconds: f.retryAfterSeconds } };
    case "WebhookDenied":
      return { ...f.status, code: f.status.code ?? 400, message: f.message };
    case "WebhookFailed":
    case "InternalError":
      return {
        code: 500,
        reason: "InternalError",
        message: `Internal error occurred: ${f.message}`,
        details: { causes: [{ message: f.message }] },
      };
    case "Unclassified":
      return { code: 500, message: f.message };
    case "ServiceUnavailable":
      return { code: 503, reason: "ServiceUnavailable", message: f.message };
    case "NotImplemented":
      return { code: 501, reason: f.reason, message: `not supported by this API server: ${f.message}` };
    case "NoSuchResource":
      return {
        code: 404,
        reason: "NotFound",
        message: "the server could not find the requested resource",
        details: {},
      };
    case "PageNotFound":
      return { code: 404, reason: "NotFound", message: "404 page not found" };
  }
}

function named(code: number, f: Named & { reason: string; causes?: readonly Cause[] }, message: string): Outcome {
  const { group, resource } = f.resource;
  const details = {
    ...(f.name !== "" && { name: f.name }),
    ...(group !== "" && { group }),
    kind: resource,
    ...(f.causes && { causes: f.causes }),
  };
  return { code, reason: f.reason, message, details };
}

function invalid(f: Failure & { reason: "Invalid" }): Outcome {
  const { group, kind } = f.kind;
  const lines = [...new Set(f.errors.map((error) => `${error.field}: ${error.message}`))];
  const what = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  const causes = f.errors.map(({ reason, message, field }) => ({ reason, message, field }));
  return {
    code: 422,
    reason: "Invalid",
    message: `${qualified({ group, resource: kind })} "${f.name}" is invalid: ${what}`,
    details: { ...(f.name !== "" && { name: f.name }), ...(group !== "" && { group }), kind, causes },
  };
}

function disruptionBudget(f: Failure & { reason: "DisruptionBudget" }): Outcome {
  const causes = [{ reason: "DisruptionBudget", message: f.message }];
  return {
    code: 429,
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: { causes, ...(f.retryAfterSeconds !== undefined && { retryAfterSeconds: f.retryAfterSeconds }) },
  };
}
