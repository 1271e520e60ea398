/**
 * What an API server says when it refuses.
 * Owns: the error and what its codes mean to a client. Does not own: what anybody does about it.
 */
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

const hasCode = (error: unknown, ...codes: readonly number[]) =>
  error instanceof StatusError && codes.includes(error.code);

export const isNotFound = (error: unknown): boolean => hasCode(error, 404);

export const isAlreadyExists = (error: unknown): boolean =>
  hasCode(error, 409) && (error as StatusError).reason === "AlreadyExists";

/** Somebody else was faster: look again. */
export const isConflict = (error: unknown): boolean =>
  hasCode(error, 409) && (error as StatusError).reason !== "AlreadyExists";

/** The resourceVersion of a list or watch is too old: list again. */
export const isExpired = (error: unknown): boolean => hasCode(error, 410);
