/** Injects faults into the API server. */
import type { User } from "./context.ts";
import type { RequestInfo } from "./request-info.ts";
import { type Failure, fail } from "./status.ts";

export type Effect =
  /** Delays the request, and then performs it. */
  | { readonly type: "Latency"; readonly milliseconds: number }
  /** Answers with an error, and does not perform the request. */
  | { readonly type: "Error"; readonly code: ErrorCode; readonly retryAfterSeconds?: number }
  /** Breaks the connection, and does not perform the request. */
  | { readonly type: "ConnectionReset" }
  /** Performs the request, and breaks the connection before it sends an answer. */
  | { readonly type: "LostAnswer" }
  /** Performs the request, and breaks the connection while it sends the answer. */
  | { readonly type: "TruncatedBody" }
  /** Breaks a watch after this many events. */
  | { readonly type: "DroppedWatch"; readonly afterEvents: number }
  /** Breaks the call to a webhook before the webhook gets the request. The webhook's failurePolicy then applies. */
  | { readonly type: "LostReview" }
  /** Calls the webhook, and discards its answer. The webhook's failurePolicy then applies. */
  | { readonly type: "LostVerdict" };

const OF_CALLS: readonly Effect["type"][] = ["LostReview", "LostVerdict"];

export type ErrorCode = 401 | 409 | 422 | 429 | 500 | 503;

/** Selects the requests that a fault affects. By default, a fault affects every request. */
export interface FaultMatch {
  readonly verbs?: readonly string[];
  readonly users?: readonly string[];
  /** The names of webhooks, for the effects LostReview and LostVerdict. */
  readonly webhooks?: readonly string[];
}

export interface Fault {
  readonly match?: FaultMatch;
  readonly effect: Effect;
  /** The probability of the fault, from 0 to 1. Defaults to 1. */
  readonly probability?: number;
  readonly times?: number;
}

export class FaultPlan {
  readonly injected: (Pick<RequestInfo, "verb" | "path"> & { readonly effect: Effect })[] = [];
  #faults: { readonly fault: Fault; left: number }[] = [];
  /** Injects faults. The returned function removes these faults. */
  inject(...faults: readonly Fault[]): () => void {
    const added = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
    this.#faults.push(...added);
    return () => {
      for (const entry of added) entry.left = 0;
    };
  }

  clear(): void {
    this.#faults = [];
  }

  /**
   * Returns the faults for this request, in the order of their injection. If `webhook` is set, returns the faults for
   * the call to this webhook.
   */
  draw(info: RequestInfo, user: User, webhook = ""): readonly Effect[] {
    const drawn = this.#faults.filter(({ fault: { match = {}, effect, probability = 1 }, left }) => {
      const isMeant = OF_CALLS.includes(effect.type) === (webhook !== "") && includes(match.webhooks, webhook);
      const isHit = includes(match.verbs, info.verb) && includes(match.users, user.username);
      return left > 0 && isMeant && isHit && Math.random() < probability;
    });
    for (const entry of drawn) {
      entry.left -= 1;
      this.injected.push({ verb: info.verb, path: info.path, effect: entry.fault.effect });
    }
    return drawn.map(({ fault }) => fault.effect);
  }
}

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list === undefined || list.includes(value);
}

const MESSAGE = "a test injected this error";

export function failWith(
  { code, retryAfterSeconds = 1 }: Effect & { readonly type: "Error" },
  info: RequestInfo,
): never {
  const { group, resource, name } = info.isResource ? info : { group: "", resource: "", name: "" };
  const failures: Readonly<Record<ErrorCode, Failure>> = {
    401: { reason: "Unauthorized" },
    409: { reason: "Conflict", resource: { group, resource }, name, message: MESSAGE },
    422: { reason: "PatchRejected" },
    429: { reason: "TooManyRequests", message: MESSAGE, retryAfterSeconds },
    500: { reason: "InternalError", message: MESSAGE },
    503: { reason: "ServiceUnavailable", message: MESSAGE },
  };
  return fail(failures[code]);
}
