/** Renders each failure of a request as a Status. */
import { type GroupResource, type Tree, isRecord, qualified, textOf } from "./objects.ts";
import { readYaml } from "./read-yaml.ts";

export interface Cause {
  readonly reason?: string;
  readonly message: string;
  readonly field?: string;
}

export type FieldError = Required<Cause>;

interface Named {
  readonly resource: GroupResource;
  readonly name: string;
}

export type Failure =
  | ({ readonly reason: "NotFound" | "AlreadyExists" } & Named)
  | ({ readonly reason: "Conflict"; readonly message: string } & Named)
  | ({ readonly reason: "Forbidden"; readonly message: string; readonly causes?: readonly Cause[] } & Named)
  | {
      readonly reason: "Invalid";
      readonly kind: { readonly group: string; readonly kind: string };
      readonly name: string;
      readonly errors: readonly FieldError[];
    }
  | { readonly reason: "ApplyConflict"; readonly message: string; readonly causes: readonly Cause[] }
  | { readonly reason: "PatchRejected" | "Unauthorized" | "MethodNotAllowed" | "NoSuchResource" | "PageNotFound" }
  | { readonly reason: "NotAcceptable"; readonly accepted: string }
  | { readonly reason: "RequestEntityTooLarge"; readonly limit: number }
  | { readonly reason: "Expired"; readonly message: string; readonly continue?: string }
  | { readonly reason: "TooLargeResourceVersion"; readonly asked: number; readonly current: number }
  | { readonly reason: "DisruptionBudget"; readonly message: string; readonly retryAfterSeconds?: number }
  | { readonly reason: "TooManyRequests"; readonly message: string; readonly retryAfterSeconds: number }
  | { readonly reason: "WebhookDenied"; readonly message: string; readonly status: DenialStatus }
  | { readonly reason: "NonResourceForbidden" | "BadRequest" | "UnsupportedMediaType"; readonly message: string }
  | { readonly reason: "WebhookFailed" | "InternalError" | "ServiceUnavailable"; readonly message: string }
  /** An error that has no reason in the real server, or a feature that the sandbox does not implement. */
  | { readonly reason: "Unclassified" | "NotImplemented"; readonly message: string };

interface DenialStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly details?: unknown;
}

/** Request handlers throw this error. The client gets its failure as a Status. */
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

export function unsupportedFormat(
  accepted = "application/json, application/yaml",
  what = "the body of the request was in an unknown format",
): never {
  return fail({ reason: "UnsupportedMediaType", message: `${what} - accepted media types include: ${accepted}` });
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

type Answer = Pick<Status, "code" | "reason" | "message" | "details">;

const ANSWERS = readYaml<Readonly<Record<Failure["reason"], Answer>>>("failures.yaml");

export function toStatus(failure: Failure): Status {
  const metadata = failure.reason === "Expired" && failure.continue ? { continue: failure.continue } : {};
  const { code, ...rest } = failure.reason === "WebhookDenied" ? denial(failure) : answerTo(failure);
  return { kind: "Status", apiVersion: "v1", metadata, status: "Failure", ...rest, code };
}

function denial({ status, message }: Failure & { reason: "WebhookDenied" }): Answer {
  return { ...status, code: status.code ?? 400, message };
}

function answerTo(failure: Failure): Answer {
  const { code, reason = failure.reason, message, details } = ANSWERS[failure.reason];
  const values = valuesOf(failure);
  const text = textOf(filled(message, values));
  return {
    ...(reason !== "" && { reason }),
    message: text,
    details: filled(details, values),
    code,
  };
}

function valuesOf(failure: Failure): Tree {
  if (failure.reason === "Invalid") {
    const { errors, name, kind } = failure;
    const lines = [...new Set(errors.map((error) => `${error.field}: ${error.message}`))];
    const problems = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
    const causes = errors.map(({ reason, message, field }) => ({ reason, message, field }));
    return { ...named({ group: kind.group, resource: kind.kind }, name), problems, causes };
  }
  return { ...failure, ...("resource" in failure && named(failure.resource, failure.name)) };
}

function named({ group, resource: kind }: GroupResource, name: string): Tree {
  const resource = qualified({ group, resource: kind });
  const shown = name === "" ? resource : `${resource} "${name}"`;
  return { resource, name, shown, kind: kind || undefined, named: name || undefined, group: group || undefined };
}

function filled(template: unknown, values: Tree): unknown {
  if (Array.isArray(template)) return template.map((one) => filled(one, values));
  if (isRecord(template)) {
    const entries = Object.entries(template).map(([key, one]) => [key, filled(one, values)] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
  if (typeof template !== "string") return template;
  const whole = /^\{(\w+)\}$/.exec(template)?.[1];
  return whole === undefined
    ? template.replaceAll(/\{(\w+)\}/g, (_, key: string) => textOf(values[key]))
    : values[whole];
}
