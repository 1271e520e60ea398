/**
 * Every answer that is not the one asked for, as one union with one renderer.
 * Owns: reasons, codes and the error format `{error: {reason, field?, message}}`. Does not own: admission denials
 * (admission-review.ts): those are answers.
 */
import type { ClusterError } from "../shared/cluster/failure.ts";

export type Rejection =
  | { readonly reason: "NotFound" }
  | { readonly reason: "UnknownCluster" }
  | { readonly reason: "Unauthorized" }
  | { readonly reason: "InvalidConfiguration"; readonly field: string; readonly message: string }
  | { readonly reason: "BadRequest"; readonly field: string; readonly message: string }
  | { readonly reason: "PayloadTooLarge"; readonly bytes: number }
  | { readonly reason: "ClusterUnavailable"; readonly error: ClusterError }
  | { readonly reason: "PodNotFound" }
  | { readonly reason: "NotEvacuating" }
  | { readonly reason: "DrainTaint"; readonly node: string; readonly taint: string }
  | { readonly reason: "BadSignature" }
  | { readonly reason: "UnsupportedMediaType"; readonly expected: string }
  | { readonly reason: "TryAgain" }
  /** An API server learns nothing but the code. */
  | { readonly reason: "Blind" }
  | { readonly reason: "InternalError" };

export type ErrorCode = 400 | 401 | 404 | 409 | 413 | 415 | 500 | 502 | 503 | 504;

export interface RenderedError {
  readonly code: ErrorCode;
  readonly body: { readonly error: { readonly reason: string; readonly field?: string; readonly message: string } };
}

/** Thrown by doors, rendered once in app.ts. */
export class RejectionError extends Error {
  readonly rejection: Rejection;

  constructor(rejection: Rejection) {
    super(rejection.reason);
    this.name = "RejectionError";
    this.rejection = rejection;
  }
}

export function renderRejection(r: Rejection): RenderedError {
  const answer = (code: ErrorCode, message: string, field?: string): RenderedError => ({
    code,
    body: { error: { reason: r.reason, ...(field === undefined ? {} : { field }), message } },
  });
  switch (r.reason) {
    case "NotFound":
      return answer(404, "no such route");
    case "UnknownCluster":
      return answer(404, "no such cluster in CLUSTERS", "cluster");
    case "Unauthorized":
      return answer(401, "expected the cluster's token, as Authorization: Bearer or as the last segment of the path");
    case "InvalidConfiguration":
      return answer(503, r.message, r.field);
    case "BadRequest":
      return answer(400, r.message, r.field);
    case "PayloadTooLarge":
      return answer(413, `expected a body of at most ${r.bytes} bytes`, "body");
    case "ClusterUnavailable":
      return answer(unavailableCode(r.error), r.error.message);
    case "PodNotFound":
      return answer(404, "no such pod in the cluster", "name");
    case "NotEvacuating":
      return answer(404, "no evacuation of this VMI is under way", "name");
    case "DrainTaint":
      return answer(409, `node "${r.node}" carries the drain taint ${r.taint}: remove that first`);
    case "BadSignature":
      return answer(
        401,
        "expected Standard Webhooks headers, signed with the cluster's relaySecret, at most 5 minutes old",
      );
    case "UnsupportedMediaType":
      return answer(415, `expected ${r.expected}`, "content-type");
    case "Blind":
      return answer(503, "nothing can be learnt about the pod; the log of the Worker says why");
    case "TryAgain":
      return answer(503, "not everything could be acted on: send all again");
    case "InternalError":
      return answer(500, "an unexpected error; the log of the Worker has it");
  }
}

/** Whether asking the same again would be answered the same. */
export function isCallersFault(error: unknown): boolean {
  return error instanceof RejectionError && renderRejection(error.rejection).code < 500;
}

function unavailableCode({ failure }: ClusterError): ErrorCode {
  switch (failure.reason) {
    case "Unreachable":
      return 503;
    case "DeadlineExceeded":
      return 504;
    case "Refused":
    case "TooLarge":
    case "Unintelligible":
    case "MarkNotKept":
      return 502;
  }
}
