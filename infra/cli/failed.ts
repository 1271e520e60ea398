/** Reasons why a command cannot do its work, in words that say what to do. */
import { ClusterError, describeFailure, type Failure } from "../../shared/kube/failures.ts";
import type { Connection } from "./connection.ts";

/** Expected, and described in full by its message. */
export class Failed extends Error {
  override readonly name = "Failed";
}

/** The user can fix it: the message is all there is to say. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Undefined: a defect of ours. */
export function wordsOf(error: unknown, connection: Connection | undefined): string | undefined {
  if (error instanceof Failed) return error.message;
  if (!(error instanceof ClusterError) || connection === undefined) return undefined;
  return `${wordsOfFailure(error.failure, connection)}\n(context "${connection.context}", ${connection.server})`;
}

export function wordsOfFailure(failure: Failure, { refusals, trouble }: Connection): string {
  switch (failure.reason) {
    case "Unreachable":
      return `the cluster cannot be reached: ${trouble() ?? "the connection broke"}`;
    case "DeadlineExceeded":
      return "the cluster did not answer in time: try again, or with a longer --request-timeout";
    case "Refused":
      return ofRefusal(failure.code, failure.request, refusals.get(failure.request));
    case "Busy":
    case "NeverRead":
    case "TooLarge":
    case "Unintelligible":
      return describeFailure(failure);
  }
}

function ofRefusal(code: number, request: string, said: string | undefined): string {
  switch (code) {
    case 401:
      return "the cluster does not accept your credentials: log in again, or choose another --context";
    case 403:
      return `you are not allowed to do this: ${said ?? request}`;
    case 404:
      return ofMissing(request);
    default:
      return `the API server answered ${request} with ${code}${said === undefined ? "" : `: ${said}`}`;
  }
}

/** A list of a kind that is served is never 404. */
function ofMissing(request: string): string {
  if (request.includes("kubevirt.io/")) {
    return `this cluster does not serve KubeVirt's kinds (${request}): is KubeVirt installed, and this the right --context?`;
  }
  if (request.includes("lifeboat.dev/")) {
    return `this cluster does not serve Lifeboat's kinds (${request}): lifeboat install brings them`;
  }
  return `the API server knows nothing of ${request}`;
}
