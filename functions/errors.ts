/** All error responses, and the function that renders them. */
import { ClusterError, isOddObject } from "../shared/kube/failures.ts";
import type { ConfigProblem } from "../shared/settings/problem.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

export type ErrorCode = 400 | 401 | 403 | 404 | 413 | 415 | 500 | 502 | 503 | 504;

interface Known {
  readonly code: ErrorCode;
  readonly field?: string;
  readonly message: string;
}

// prettier-ignore
const REJECTIONS = {
  NotFound: { code: 404, message: MESSAGES.noRoute },
  UnknownCluster: { code: 404, field: "cluster", message: MESSAGES.noCluster },
  Unauthorized: { code: 401, message: MESSAGES.noToken },
  CrossOrigin: { code: 403, field: "origin", message: MESSAGES.foreignForm },
  BadSignature: { code: 401, message: MESSAGES.badSignature },
  InvalidConfiguration: { code: 503, message: MESSAGES.invalid },
  BadRequest: { code: 400, field: "body", message: MESSAGES.invalid },
  PayloadTooLarge: { code: 413, field: "body", message: MESSAGES.smallerBody },
  UnsupportedMediaType: { code: 415, field: "content-type", message: MESSAGES.otherContentType },
  NodeNotFound: { code: 404, field: "node", message: MESSAGES.noNode },
  NodeEvacuationNotFound: { code: 404, field: "name", message: MESSAGES.noNodeEvacuation },
  RollingMaintenanceNotFound: { code: 404, field: "name", message: MESSAGES.noRollingMaintenance },
  VmNotFound: { code: 404, field: "name", message: MESSAGES.noVm },
  ClusterUnavailable: { code: 502, message: MESSAGES.clusterUnavailable },
  ObjectUnreadable: { code: 502, message: MESSAGES.objectUnreadable },
  TryAgain: { code: 503, message: MESSAGES.sendAgain },
  Busy: { code: 503, message: MESSAGES.busy },
  Undecided: { code: 503, message: MESSAGES.undecided },
  InternalError: { code: 500, message: MESSAGES.internalError },
} as const satisfies Record<string, Known>;

export type Reason = keyof typeof REJECTIONS;

export class RejectionError extends Error {
  readonly reason: Reason;
  readonly details: Partial<Known>;

  constructor(reason: Reason, details: Partial<Known> = {}) {
    super(details.message ?? REJECTIONS[reason].message);
    this.name = "RejectionError";
    this.reason = reason;
    this.details = details;
  }
}

export function rejectProblems(
  reason: "BadRequest" | "InvalidConfiguration",
  problems: readonly ConfigProblem[],
): never {
  throw new RejectionError(reason, problems[0]);
}

export interface RenderedError {
  readonly code: ErrorCode;
  readonly body: { readonly error: Omit<Known, "code"> & { readonly reason: Reason } };
}

export function renderRejection({ reason, details }: Pick<RejectionError, "reason" | "details">): RenderedError {
  const { code, ...error } = { ...REJECTIONS[reason], ...details };
  return { code, body: { error: { reason, ...error } } };
}

const CODES_OF_FAILURES: Partial<Record<ClusterError["failure"]["reason"], ErrorCode>> = {
  Unreachable: 503,
  Busy: 503,
  DeadlineExceeded: 504,
  NeverRead: 503,
};

/**
 * Returns the rejection for a thrown value. Logs an unexpected value as a defect, and returns InternalError without
 * details.
 */
export function rejectionOf(error: unknown, log: (line: Readonly<Record<string, unknown>>) => void): RejectionError {
  if (error instanceof RejectionError) return error;
  if (error instanceof ClusterError) {
    if (isOddObject(error.failure)) return new RejectionError("ObjectUnreadable", { message: error.message });
    const code = CODES_OF_FAILURES[error.failure.reason] ?? 502;
    return new RejectionError("ClusterUnavailable", { code, message: error.message });
  }
  if (isCutShort(error)) return new RejectionError("BadRequest", { message: MESSAGES.wholeBody });
  log({ level: "error", message: MESSAGES.logUnexpected, error: error instanceof Error ? error.stack : undefined });
  return new RejectionError("InternalError");
}

/** Returns whether the caller disconnected before the whole request body arrived. Only Node.js throws ECONNRESET. */
function isCutShort(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET";
}

export function isCallersFault(error: unknown): boolean {
  return isCutShort(error) || (error instanceof RejectionError && renderRejection(error).code < 500);
}

/** Returns undefined for a failed read of the cluster. Throws any other error. */
export function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof ClusterError)) throw error;
}

/**
 * Handles the error of a failed list request. Returns an empty list if the cluster does not serve the kind. Returns
 * undefined if the objects could not be read. Throws any error that is not a ClusterError.
 */
export function noneOrUnread(error: unknown): readonly never[] | undefined {
  const isNotServed = error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 404;
  return isNotServed ? [] : unlessUnreadable(error);
}

/**
 * Describes a failure without details that the caller must not see. If a field of the request or the configuration is
 * wrong, the text contains the name of the field.
 */
export function describeError(error: unknown): string {
  if (error instanceof ClusterError) return error.message;
  if (!(error instanceof RejectionError)) return MESSAGES.unexpectedError;
  const { field, message } = renderRejection(error).body.error;
  return field === undefined ? message : `${field}: ${message}`;
}
