/** Defines the failures of requests to an API server, and a text for each failure. */

export type Failure =
  | { readonly reason: "Unreachable" }
  | { readonly reason: "DeadlineExceeded" }
  | { readonly reason: "Refused"; readonly code: number; readonly request: string }
  | { readonly reason: "TooLarge"; readonly request: string }
  /** A decision still needed more facts after the maximum number of rounds of reads. */
  | { readonly reason: "NeverRead"; readonly request: string }
  /** The memory for answers of the API server is used up. See transport.ts. */
  | { readonly reason: "Busy" }
  /**
   * The answer cannot be used. If `odd` is set, the answer is the requested object, but Lifeboat cannot parse the
   * object. Otherwise the answer is another object, or not the answer of a Kubernetes API server.
   */
  | { readonly reason: "Unintelligible"; readonly request: string; readonly issue: string; readonly odd?: true };

/** A failed request. The error never contains a token or the body of an answer. */
export class ClusterError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(describeFailure(failure), options);
    this.name = "ClusterError";
    this.failure = failure;
  }
}

/**
 * Returns whether the API server would refuse the same request again. Returns false for a refused token, because tokens
 * are replaced.
 */
export function isLasting(failure: Failure): boolean {
  if (failure.reason !== "Refused" || failure.code === 401 || failure.code === 429) return false;
  return failure.code >= 400 && failure.code < 500;
}

export function isForbidden(error: unknown): boolean {
  return error instanceof ClusterError && error.failure.reason === "Refused" && error.failure.code === 403;
}

/**
 * Returns whether a list failed because the cluster does not serve the kind. A list of a served kind never gets 404.
 */
export function isNotServed({ failure }: ClusterError): boolean {
  return failure.reason === "Refused" && failure.code === 404;
}

export function isBusy(error: unknown): boolean {
  return error instanceof ClusterError && error.failure.reason === "Busy";
}

/** Returns whether an object cannot be parsed. A repeated request then fails until the object changes. */
export function isOddObject(failure: Failure): failure is Extract<Failure, { readonly reason: "Unintelligible" }> {
  return failure.reason === "Unintelligible" && failure.odd === true;
}

/** Returns whether the API server did not answer. The next request will probably fail too. */
export function isSilence({ failure }: ClusterError): boolean {
  return failure.reason === "Unreachable" || failure.reason === "DeadlineExceeded";
}

const CODES: Readonly<Record<number, string>> = {
  401: "401 Unauthorized: the token is not valid",
  403: "403 Forbidden: the service account lacks a permission",
  429: "429 Too Many Requests",
};

export const BUSY = "Lifeboat has no memory for another review now: try again";

export function describeFailure(f: Failure): string {
  switch (f.reason) {
    case "Unreachable":
      return "the API server cannot be reached";
    case "DeadlineExceeded":
      return "the API server did not answer in time";
    case "Refused":
      return `the API server answered ${f.request} with ${CODES[f.code] ?? f.code}`;
    case "NeverRead":
      return `Lifeboat has reached the limit of reads for one decision, and ${f.request} was still missing`;
    case "Busy":
      return BUSY;
    case "TooLarge":
      return `the answer to ${f.request} is larger than any Kubernetes object can be`;
    case "Unintelligible":
      if (f.odd) return `Lifeboat cannot parse the answer to ${f.request}: ${f.issue}`;
      return `the answer to ${f.request} is not the answer of an API server: ${f.issue}`;
  }
}
