/** Simulates, behind `fetch`, an API server that Lifeboat must not trust. */
import { AsyncLocalStorage } from "node:async_hooks";
import * as fc from "fast-check";
import { cluster } from "../../../support/generators/clusters.ts";
import { requestInfoOf } from "../../../support/cluster/request-info.ts";
import type { VirtualClock } from "../../../support/clock.ts";
import { failure, FakeApi, type Parties } from "../../../support/cluster/api.ts";
import { often } from "../../../support/generators/often.ts";
import { isObject, type Json } from "../../../support/json.ts";
import { SECRETS, UPSTREAM } from "../canaries.ts";
import { behaviour, type Outcome } from "./misbehaviour.ts";

export const SERVER = "https://api.prod.example.com";
export const BOUND_SERVER = "https://kubernetes.default.svc";

/** The index of the request to Lifeboat that caused the current work. The work can continue after the answer. */
export const origin = new AsyncLocalStorage<number>();

/** Matches POST requests that change nothing: reviews of tokens and permissions. Also matches Events. */
const NO_CHANGE = /^\/apis\/(?:authorization|authentication)\.k8s\.io\/|\/events$/;

export interface Asked {
  readonly origin: number | undefined;
  readonly request: string;
  /** True if the request changes the cluster. Events are ignored. */
  readonly write: boolean;
}

export const hostility = fc.record({
  cluster,
  behaviour,
  /**
   * The delay of every answer. A slow cluster shortens the test, because Lifeboat sends fewer requests before its
   * deadline.
   */
  seconds: fc.constantFrom(0.1, 0.4, 0.8, 0.8),
  markupIn: often(Infinity, 1, 5),
});
type Hostility = typeof hostility extends fc.Arbitrary<infer T> ? T : never;

/** `never` simulates a request that gets no answer. Without `never`, such a request ends at its deadline. */
export interface HostileClock extends Pick<VirtualClock, "sleep"> {
  readonly never?: () => Promise<never>;
}

const JANE = { authenticated: true, audiences: ["lifeboat"], user: { username: "jane" } };
/** The simulated cluster refuses evictions, and grants everybody every permission. */
const PARTIES: Parties = {
  review: ({ resource, subresource }) => {
    if (resource === "version") return { code: 200, body: { major: "1", minor: "35" } };
    if (resource === "tokenreviews") return { code: 201, body: { status: JANE } };
    if (resource.endsWith("accessreviews")) return { code: 201, body: { status: { allowed: true } } };
    return subresource === "eviction" ? failure(429, "TooManyRequests") : undefined;
  },
};

export class HostileCluster {
  readonly asked: Asked[] = [];
  readonly problems: string[] = [];
  readonly #api = new FakeApi(PARTIES);
  readonly #hostility: Hostility;
  readonly #clock: HostileClock;

  constructor(drawn: Hostility, clock: HostileClock) {
    for (const [path, objects] of Object.entries(drawn.cluster.collections)) {
      for (const object of objects) this.#api.put(path.replace(/.*\//, ""), object);
    }
    this.#hostility = drawn;
    this.#clock = clock;
  }

  readonly fetch = async (address: string, init: RequestInit): Promise<Response> => {
    const url = new URL(address);
    const { method = "GET", signal } = init;
    this.#check(address, url, init);
    const dryRun = url.searchParams.get("dryRun") === "All";
    const request = `${method} ${url.pathname}${url.search}`;
    const { behaviour: all } = this.#hostility;
    const misbehave = all[this.asked.length % Math.max(all.length, 1)];
    const write = method !== "GET" && !dryRun && !NO_CHANGE.test(url.pathname);
    this.asked.push({ origin: origin.getStore(), request, write });
    const good = this.#api.answer(requestInfoOf(address, init));
    const reply = { code: good.code, text: JSON.stringify(good.body, hostile(this.#hostility.markupIn)) };
    return await this.#deliver(misbehave?.(good) ?? { kind: "Reply", reply }, reply, signal ?? undefined);
  };

  async #deliver(outcome: Outcome, good: { code: number; text: string }, signal?: AbortSignal): Promise<Response> {
    await this.#wait(outcome.kind === "Slow" ? outcome.seconds : this.#hostility.seconds, signal);
    switch (outcome.kind) {
      case "Broken":
        if (!outcome.within) throw new TypeError("fetch failed");
        return new Response(new ReadableStream({ pull: (c) => c.error(new TypeError("terminated")) }));
      case "Reply": {
        const { code, text, headers = {} } = outcome.reply;
        return new Response(text, { status: code, headers });
      }
      case "Slow":
        return new Response(good.text, { status: good.code });
    }
  }

  async #wait(seconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      // eslint-disable-next-line typescript/prefer-promise-reject-errors -- as fetch does
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const ending = seconds === Infinity ? this.#clock.never?.() : this.#clock.sleep(seconds * 1000);
    await Promise.race([aborted, ...(ending === undefined ? [] : [ending])]);
  }

  /**
   * Checks that no text from an annotation or a body makes Lifeboat send a request to another collection, or
   * impersonate another user.
   */
  #check(address: string, url: URL, init: RequestInit): void {
    const headers = new Headers(init.headers);
    const path = address.slice(url.origin.length).split("?")[0];
    const wrong = [
      [url.origin !== SERVER && url.origin !== BOUND_SERVER, `a request to ${url.origin}`],
      [path !== url.pathname, `a path that the URL parser changes: ${path}`],
      [headers.has("impersonate-user"), "a request as another user"],
      [headers.get("authorization") !== `Bearer ${SECRETS.token}`, "a request without the service account's token"],
      [init.redirect !== "manual", "a request that follows redirects"],
      [init.signal === undefined || init.signal === null, "a request without a deadline"],
    ] as const;
    for (const [isWrong, problem] of wrong) if (isWrong) this.problems.push(problem);
  }
}

// prettier-ignore
/** These fields are not changed, because Lifeboat needs them to read the answer. */
const KEPT = new Set(["kind", "apiVersion", "continue", "resourceVersion", "namespace", "creationTimestamp", "manager"]);
const MARKUP = "<img src=x onerror=alert(1)>";

/** Returns a JSON replacer that adds markup, and adds fields that Lifeboat does not read. */
function hostile(markupIn: number) {
  let count = 0;
  return (key: string, value: Json): Json => {
    if (key === "metadata" && isObject(value)) return { ...value, managedFields: [{ manager: UPSTREAM }] };
    const isMarked = typeof value === "string" && !KEPT.has(key) && ++count % markupIn === 0;
    return isMarked ? `${value}${MARKUP}` : value;
  };
}
