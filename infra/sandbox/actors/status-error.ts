/** The error of a request that the API server has refused. */
export interface Status {
  readonly reason: string;
  readonly message: string;
  readonly details: { readonly causes?: readonly { reason?: string; message?: string; field?: string }[] };
}

export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: number;
  readonly reason: string | undefined;
  readonly status: Partial<Status>;

  constructor(code: number, status: Partial<Status>, request: string) {
    super(`${request}: ${code} ${status.message ?? ""}`);
    this.code = code;
    this.reason = status.reason;
    this.status = status;
  }
}

const PATCH_REJECTED = "the server rejected our request due to an error in our request";

const hasCode = (error: unknown, ...codes: readonly number[]) =>
  error instanceof StatusError && codes.includes(error.code);

export const isNotFound = (error: unknown): boolean => hasCode(error, 404);

export function isForbidden(error: unknown): error is StatusError {
  return hasCode(error, 403);
}

/** Returns undefined for a NotFound error. Throws every other error. */
export function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

export const isAlreadyExists = (error: unknown): boolean =>
  hasCode(error, 409) && (error as StatusError).reason === "AlreadyExists";

/**
 * Returns true if a write failed because the object has changed since it was read. The resourceVersion was old, or a
 * `test` operation in a JSON patch failed.
 */
export const isConflict = (error: unknown): boolean =>
  (hasCode(error, 409) && (error as StatusError).reason !== "AlreadyExists") ||
  (hasCode(error, 422) && (error as StatusError).status.message === PATCH_REJECTED);

export const isOverQuota = (error: unknown): boolean =>
  hasCode(error, 403) && messageOf(error).includes("exceeded quota");

/** Returns the message in the server's answer, or the text of any other error. */
export function messageOf(error: unknown): string {
  if (error instanceof StatusError) return error.status.message ?? error.message;
  return error instanceof Error ? error.message : String(error);
}

/** Returns true if the resourceVersion of a list or watch is too old. */
export const isExpired = (error: unknown): boolean => hasCode(error, 410);
