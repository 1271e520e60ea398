/**
 * Repeats a refused request after the time in the answer's Retry-After header, as client-go does. Upstream: client-go
 * `rest/with_retry.go` (`IsNextRetry`, `checkWait`), `rest/request.go` (`maxRetries`).
 */
import type { IncomingMessage } from "node:http";
import { pause, type Clock } from "./clock.ts";
import type { RawRequest, Transport } from "./transport.ts";

export interface RetryOptions {
  readonly clock: Clock;
  /** Aborts the request, or the pause before a retry. The call then throws an error. */
  readonly signal: AbortSignal;
  /** Waits for the client's rate limit before each request and each retry. */
  readonly before?: () => Promise<void>;
}

export const RETRIES = 10;

/**
 * Repeats refused requests after the time in `Retry-After`. Does not repeat a watch, because the informer lists the
 * objects instead.
 */
export function withRetryAfter(transport: Transport, { clock, signal, before }: RetryOptions): Transport {
  const attempt = async (request: RawRequest): Promise<IncomingMessage> => {
    await before?.();
    signal.throwIfAborted();
    return transport.send({ ...request, signal });
  };
  const send = async (request: RawRequest): Promise<IncomingMessage> => {
    for (let retries = 0; ; retries++) {
      const response = await attempt(request);
      const seconds = retryAfterSeconds(response);
      if (seconds === undefined || retries === RETRIES) return response;
      response.resume();
      await pause(clock, seconds * 1000, signal);
    }
  };
  return {
    send: (request, stream) => (stream === undefined ? send(request) : transport.send(request, stream)),
    close: () => undefined,
  };
}

function retryAfterSeconds({ statusCode = 0, headers }: IncomingMessage): number | undefined {
  const seconds = /^\d+$/.exec(headers["retry-after"] ?? "")?.[0];
  return (statusCode === 429 || statusCode >= 500) && seconds !== undefined ? Number(seconds) : undefined;
}
