/** Why a command cannot do its work, and what the person can do. */
import { ClusterError, describeFailure, type Failure } from "../../shared/kube/failures.ts";
import type { Connection } from "./connection.ts";

/** An expected failure whose message says everything. */
export class Failed extends Error {
  override readonly name = "Failed";
}

/** A mistake of the user: the message says everything. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Describes a failure. Returns undefined for a defect of Lifeboat. */
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

/** Describes a missing kind: a list of a served kind never gives 404. */
function ofMissing(request: string): string {
  if (request.includes("kubevirt.io/")) {
    return `this cluster does not serve KubeVirt's kinds (${request}): is KubeVirt installed, and this the right --context?`;
  }
  if (request.includes("lifeboat.dev/")) {
    return `this cluster does not serve Lifeboat's kinds (${request}): lifeboat install brings them`;
  }
  return `the API server does not serve ${request}`;
}
