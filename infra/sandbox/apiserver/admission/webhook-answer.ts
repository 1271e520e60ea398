/** Parses the HTTP answer of an admission webhook. */
import type { IncomingHttpHeaders } from "node:http";
import { type Tree, isRecord, textOf } from "../objects.ts";
import { type Operation, readJsonPatch } from "../patch/json.ts";

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly code?: number; readonly message?: string; readonly reason?: string; details?: unknown };
  readonly warnings?: readonly string[];
  readonly operations: readonly Operation[];
}

/**
 * Thrown if the webhook cannot be reached, is too slow, or returns a malformed answer. The webhook's failurePolicy then
 * applies.
 */
export class WebhookError extends Error {}

export interface HttpAnswer {
  readonly code: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

const REVIEW = "admission.k8s.io/v1, Kind=AdmissionReview";

export function readAnswer(answer: HttpAnswer, uid: string, mutating: boolean): AdmissionResponse {
  const { apiVersion, kind, response } = parseReview(answer);
  if (apiVersion === "admission.k8s.io/v1beta1")
    throw notCalled("converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion");
  if (!isRecord(response)) throw invalid("webhook response was absent");
  if (response.uid !== uid) throw invalid(`expected response.uid="${uid}", got ${JSON.stringify(response.uid ?? "")}`);
  const got = `${textOf(apiVersion) || "/"}, Kind=${textOf(kind)}`;
  if (got !== REVIEW) throw invalid(`expected webhook response of ${REVIEW}, got ${got}`);
  return { ...response, uid, allowed: response.allowed === true, operations: operationsIn(response, mutating) };
}

function operationsIn(response: Tree, mutating: boolean): readonly Operation[] {
  const [patch, patchType] = [textOf(response.patch), textOf(response.patchType)];
  if (patch === "" && patchType === "") return [];
  const [given, other] = patch === "" ? ["patchType", "patch"] : ["patch", "patchType"];
  if (!mutating) throw invalid(`validating webhook may not return response.${given}`);
  if (patch === "" || patchType === "") throw invalid(`webhook returned response.${given} but not response.${other}`);
  if (response.allowed !== true) return [];
  if (patchType !== "JSONPatch") throw new WebhookError(`unsupported patch type ${JSON.stringify(patchType)}`);
  try {
    return readJsonPatch(JSON.parse(Buffer.from(patch, "base64").toString()));
  } catch (cause) {
    throw new WebhookError(`received undecodable patch in webhook response: ${String(cause)}`, { cause });
  }
}

function invalid(why: string): WebhookError {
  return new WebhookError(`received invalid webhook response: ${why}`);
}

function notCalled(why: string): WebhookError {
  return new WebhookError(`failed to call webhook: ${why}`);
}

function parseReview({ code, text, headers }: HttpAnswer): Tree {
  const { "content-type": type = "text/" } = headers;
  const body = parsed(text);
  if (code < 200 || code > 206) throw notCalled(refusal(code, type.startsWith("text/") ? text.trim() : "unknown"));
  if (text === "") throw notCalled(`0-length response with status code: ${code} and content type: ${type}`);
  if (isRecord(body)) return body;
  throw notCalled(
    "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of " +
      'type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** client-go's messages for status codes. client-go ignores the body of these answers. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  503: "the server is currently unable to handle the request",
};

function refusal(code: number, text: string): string {
  if (REFUSALS[code] !== undefined) return REFUSALS[code];
  if (code < 500) return `the server responded with the status code ${code} but did not return more information`;
  return `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
}
