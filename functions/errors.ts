/** Every error answer, except those of probes, which have no body: one table and one renderer. */
import { ClusterError } from "../shared/kube/failures.ts";
import type { ConfigProblem } from "../shared/settings/problem.ts";

export type ErrorCode = 400 | 401 | 403 | 404 | 413 | 415 | 500 | 502 | 503 | 504;

interface Known {
  readonly code: ErrorCode;
  readonly field?: string;
  readonly message: string;
}

// prettier-ignore
const REJECTIONS = {
  NotFound: { code: 404, message: "no such route" },
  UnknownCluster: { code: 404, field: "cluster", message: "no such cluster in CLUSTERS" },
  Unauthorized: { code: 401, message: "expected the cluster's token, as Authorization: Bearer or as the last segment of the path" },
  CrossOrigin: { code: 403, field: "origin", message: "expected a form that this page has sent" },
  BadSignature: { code: 401, message: "expected Standard Webhooks headers, signed with the cluster's relaySecret, at most 5 minutes old" },
  InvalidConfiguration: { code: 503, message: "invalid" },
  BadRequest: { code: 400, field: "body", message: "invalid" },
  PayloadTooLarge: { code: 413, field: "body", message: "expected a smaller body" },
  UnsupportedMediaType: { code: 415, field: "content-type", message: "expected another content type" },
  NodeNotFound: { code: 404, field: "node", message: "no such node in the cluster" },
  NodeEvacuationNotFound: { code: 404, field: "name", message: "no such NodeEvacuation in the cluster" },
  RollingMaintenanceNotFound: { code: 404, field: "name", message: "no such RollingMaintenance in the cluster" },
  VmNotFound: { code: 404, field: "name", message: "the cluster has no such VMI, and no evacuation or migration of it" },
  ClusterUnavailable: { code: 502, message: "the API server cannot be asked" },
  TryAgain: { code: 503, message: "some events could not be acted on: send all of them again" },
  Busy: { code: 503, message: "too many reviews are in progress: try again" },
  /** An API server learns only the code. */
  Undecided: { code: 503, message: "Lifeboat could not read the pod; the Worker's log says why" },
  InternalError: { code: 500, message: "an unexpected error; the Worker's log describes it" },
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
 * Returns the rejection for a thrown value. Any value that is neither a rejection nor a cluster's failure is a defect, which only the log
 * describes.
 */
export function rejectionOf(error: unknown, log: (line: Readonly<Record<string, unknown>>) => void): RejectionError {
  if (error instanceof RejectionError) return error;
  if (error instanceof ClusterError) {
    const code = CODES_OF_FAILURES[error.failure.reason] ?? 502;
    return new RejectionError("ClusterUnavailable", { code, message: error.message });
  }
  if (isCutShort(error)) return new RejectionError("BadRequest", { message: "expected the whole body" });
  log({ level: "error", message: "unexpected error", error: error instanceof Error ? error.stack : undefined });
  return new RejectionError("InternalError");
}

/**
 * Returns whether the caller disconnected before its body arrived (in Node). Failures of a cluster are ClusterErrors.
 */
function isCutShort(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET";
}

/** Returns whether the same request would get the same answer again. */
export function isCallersFault(error: unknown): boolean {
  return isCutShort(error) || (error instanceof RejectionError && renderRejection(error).code < 500);
}

/**
 * Returns undefined for data that the cluster did not let Lifeboat read, so that the rest is still shown. Throws any
 * other error.
 */
export function unlessUnreadable(error: unknown): undefined {
  if (!(error instanceof ClusterError)) throw error;
}

/**
 * Returns no objects if the cluster does not serve the kind, as with manifests of an older version. Returns undefined
 * if they could not be read.
 */
export function noneOrUnread(error: unknown): readonly never[] | undefined {
  const isNotServed = error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 404;
  return isNotServed ? [] : unlessUnreadable(error);
}

/** Describes why something failed, as far as a caller may know. The text names a mistake in the configuration. */
export function describeError(error: unknown): string {
  if (error instanceof ClusterError) return error.message;
  if (!(error instanceof RejectionError)) return "an unexpected error";
  const { field, message } = renderRejection(error).body.error;
  return field === undefined ? message : `${field}: ${message}`;
}
