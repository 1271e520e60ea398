/**
 * Faults on demand, for clients that must survive them. Each draw depends on the seed, the fault, the request's verb and path (and the
 * webhook's name), and how often that request came before. So two runs with the same requests get the same faults, independently of other
 * requests at the same time.
 */
import { randomInt } from "node:crypto";
import type { User } from "./context.ts";
import type { RequestInfo } from "./request-info.ts";
import { type Failure, fail } from "./status.ts";

export type Effect =
  /** The request waits, then continues. */
  | { readonly type: "Latency"; readonly milliseconds: number }
  /** An error answer; nothing is done. */
  | { readonly type: "Error"; readonly code: ErrorCode; readonly retryAfterSeconds?: number }
  /** The connection breaks before anything is done. */
  | { readonly type: "ConnectionReset" }
  /** Nothing is done and no answer comes, until the client gives up. */
  | { readonly type: "Hang" }
  /** Everything is done, but the answer is lost with the connection. */
  | { readonly type: "LostAnswer" }
  /** Everything is done, and the connection breaks in the middle of the answer. */
  | { readonly type: "TruncatedBody" }
  /** A watch breaks after this many events. */
  | { readonly type: "DroppedWatch"; readonly afterEvents: number }
  /**
   * The call to a webhook breaks before it arrives, as on a connection that was just closed: its failurePolicy decides.
   */
  | { readonly type: "LostReview" }
  /** The webhook does its work, and its answer is lost: its failurePolicy decides. */
  | { readonly type: "LostVerdict" };

const OF_CALLS: readonly Effect["type"][] = ["LostReview", "LostVerdict"];

export type ErrorCode = 401 | 409 | 422 | 429 | 500 | 503;

/** A missing field matches everything. */
export interface FaultMatch {
  readonly verbs?: readonly string[];
  readonly groups?: readonly string[];
  readonly resources?: readonly string[];
  readonly subresources?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly users?: readonly string[];
  /** For lost reviews and verdicts: the webhooks' names. */
  readonly webhooks?: readonly string[];
}

export interface Fault {
  readonly match?: FaultMatch;
  readonly effect: Effect;
  /** From 0 to 1; 1 by default. */
  readonly probability?: number;
  /** The maximum number of times. */
  readonly times?: number;
}

export class FaultPlan {
  readonly seed: number;
  /** The faults so far, for the message of a failing test. */
  readonly injected: (Pick<RequestInfo, "verb" | "path"> & { readonly effect: Effect })[] = [];
  #faults: { readonly fault: Fault; left: number }[] = [];
  readonly #asked = new Map<string, number>();

  constructor(seed: number = randomInt(2 ** 31)) {
    this.seed = seed;
  }

  /** The function takes these faults away again. */
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

  /** The effects on this request, or on a webhook's call about it, in the order in which the faults were injected. */
  draw(info: RequestInfo, user: User, webhook = ""): readonly Effect[] {
    const request = `${webhook}${info.verb} ${info.path}`;
    const drawn = this.#faults.filter(({ fault, left }, index) => {
      const { match = {}, effect } = fault;
      const isMeant = OF_CALLS.includes(effect.type) === (webhook !== "") && includes(match.webhooks, webhook);
      return left > 0 && isMeant && matches(match, info, user) && this.#strikes(fault, `${index} ${request}`);
    });
    for (const entry of drawn) {
      entry.left -= 1;
      this.injected.push({ verb: info.verb, path: info.path, effect: entry.fault.effect });
    }
    return drawn.map(({ fault }) => fault.effect);
  }

  #strikes({ probability = 1 }: Fault, request: string): boolean {
    const count = this.#asked.get(request) ?? 0;
    this.#asked.set(request, count + 1);
    return chance(`${this.seed} ${count} ${request}`) < probability;
  }
}

function matches(match: FaultMatch, info: RequestInfo, user: User): boolean {
  const { verbs, users, groups, resources, subresources, namespaces } = match;
  const aboutResources = groups ?? resources ?? subresources ?? namespaces;
  if (!includes(verbs, info.verb) || !includes(users, user.username)) return false;
  if (!info.isResource) return aboutResources === undefined;
  return (
    includes(groups, info.group) &&
    includes(resources, info.resource) &&
    includes(subresources, info.subresource) &&
    includes(namespaces, info.namespace)
  );
}

function includes(list: readonly string[] | undefined, value: string): boolean {
  return list === undefined || list.includes(value);
}

/** A number from 0 to 1 that depends on every character: FNV-1a, then murmur3's finish. */
function chance(text: string): number {
  let hash = 2166136261;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

const MESSAGE = "injected by the fault plan";

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
