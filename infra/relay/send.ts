/** Sends a batch over HTTP, and interprets the answer. */
import { createHash } from "node:crypto";
import { Webhook } from "standardwebhooks";
import * as z from "zod/mini";
import { BATCH_CONTENT_TYPE, type LifeboatEvent } from "../../shared/events/cloud-event.ts";
import type { Clock } from "./clock.ts";
import { reasonOf } from "./log.ts";
import { RELAY_MESSAGES as MESSAGES } from "./messages.ts";

/**
 * `accepted`: the Worker has accepted the batch. `refused`: the batch is invalid or too large. `unavailable`: the
 * Worker does not answer, or has a temporary failure. `misconfigured`: an administrator must change the configuration.
 */
export const RESULTS = ["accepted", "refused", "unavailable", "misconfigured"] as const;
export type DeliveryResult = (typeof RESULTS)[number];

export interface Delivered {
  readonly result: DeliveryResult;
  readonly status?: number;
  /** Why the delivery failed. The text comes from the Worker or the network. */
  readonly reason?: string;
  readonly retryAfterMs?: number;
}

export type Deliver = (batch: readonly LifeboatEvent[], signal: AbortSignal) => Promise<Delivered>;

export type FetchUrl = (url: URL, init: RequestInit) => Promise<Response>;

export interface HttpOptions {
  readonly endpoint: URL;
  readonly secret: string;
  readonly clock: Clock;
  readonly fetch: FetchUrl;
}

/** The time limit of a delivery, in milliseconds. The Worker reads every object of a batch before it answers. */
const TIMEOUT_MS = 60_000;

/**
 * The result for each status code of the Worker. Every other status below 500 is `misconfigured`, because the Worker
 * never sends a redirect or 200.
 */
const RESULT_OF = new Map<number, DeliveryResult>([
  [204, "accepted"],
  [400, "refused"],
  [413, "refused"],
  [422, "refused"],
  [408, "unavailable"],
  [429, "unavailable"],
]);

export function resultOf(status: number): DeliveryResult {
  return RESULT_OF.get(status) ?? (status >= 500 ? "unavailable" : "misconfigured");
}

export function overHttp({ endpoint, secret, clock, fetch }: HttpOptions): Deliver {
  const sign = createSigner(secret);
  return async (batch, signal) => {
    const body = JSON.stringify(batch);
    const timeout = new AbortController();
    const cancel = clock.setTimer(TIMEOUT_MS, () => timeout.abort(new Error(MESSAGES.noAnswer(TIMEOUT_MS))));
    try {
      const response = await fetch(endpoint, {
        method: "POST",
        headers: { "content-type": BATCH_CONTENT_TYPE, ...sign(body, clock.now()) },
        body,
        redirect: "manual",
        signal: AbortSignal.any([signal, timeout.signal]),
      });
      const text = await response.text();
      return outcomeOf(response, text);
    } catch (error) {
      return { result: "unavailable", reason: reasonOf(error) };
    } finally {
      cancel();
    }
  };
}

function outcomeOf({ status, headers }: Response, text: string): Delivered {
  const after = headers.get("retry-after") ?? "";
  const reason = reasonIn(text);
  return {
    result: resultOf(status),
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(/^\d+$/.test(after) && { retryAfterMs: Number(after) * 1000 }),
  };
}

const Rejection = z.object({ error: z.object({ reason: z.string(), message: z.prefault(z.string(), "") }) });

/** Returns the error message in the Worker's answer. Returns undefined for the error page of a proxy. */
function reasonIn(text: string): string | undefined {
  try {
    const { error } = Rejection.parse(JSON.parse(text));
    return `${error.reason}: ${error.message}`.slice(0, 300);
  } catch {
    return undefined;
  }
}

/**
 * Creates a signer that returns the headers of Standard Webhooks. They prove that a delivery is recent and from this
 * relay. The same body has the same id, so the Worker recognizes a repeated delivery. Specification:
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function createSigner(secret: string): (body: string, now: Date) => Readonly<Record<string, string>> {
  const webhook = new Webhook(secret);
  return (body, now) => {
    const id = `msg_${createHash("sha256").update(body).digest("base64url")}`;
    return {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": webhook.sign(id, now, body),
    };
  };
}
