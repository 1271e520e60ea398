/** Describes why a command cannot do its work, and what the person can do. */
import { ClusterError, describeFailure, type Failure } from "../../shared/kube/failures.ts";
import type { Connection } from "./connection.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";

/** An expected failure. The command prints only the message, without a stack trace. */
export class Failed extends Error {
  override readonly name = "Failed";
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Describes a failure. Returns undefined for a defect of Lifeboat. */
export function wordsOf(error: unknown, connection: Connection | undefined): string | undefined {
  if (error instanceof Failed) return error.message;
  if (!(error instanceof ClusterError) || connection === undefined) return undefined;
  return `${wordsOfFailure(error.failure, connection)}\n(${MESSAGES.where(connection)})`;
}

export function wordsOfFailure(failure: Failure, { refusals, trouble }: Connection): string {
  switch (failure.reason) {
    case "Unreachable":
      return MESSAGES.unreachable(trouble());
    case "DeadlineExceeded":
      return MESSAGES.tooSlow;
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
      return MESSAGES.unauthorized;
    case 403:
      return MESSAGES.forbidden(said ?? request);
    case 404:
      return ofMissing(request);
    default:
      return MESSAGES.answered(request, code, said);
  }
}

function ofMissing(request: string): string {
  if (request.includes("kubevirt.io/")) return MESSAGES.noKubeVirt(request);
  return request.includes("lifeboat.dev/") ? MESSAGES.noLifeboat(request) : MESSAGES.notServed(request);
}
