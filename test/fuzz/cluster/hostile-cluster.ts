/**
 * An API server that nobody should trust, as `fetch` meets it.
 * Owns: who asked for what, and what must hold for every request of ours. Does not own: the answers.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { SECRETS } from "../canaries.ts";
import type { Json } from "../json-mutations.ts";
import type { Random } from "../random.ts";
import type { VirtualClock } from "../virtual-clock.ts";
import { misbehave, type Outcome } from "./misbehaviour.ts";
import { situate } from "./situation.ts";
import { Store } from "./store.ts";

export const SERVER = "https://api.prod.example.com";
/** Of a Workers VPC binding. */
export const BOUND_SERVER = "https://kubernetes.default.svc";

/** The request to Lifeboat in whose course something happens: also what goes on after its answer. */
export const origin = new AsyncLocalStorage<number>();

export interface Asked {
  readonly origin: number | undefined;
  readonly request: string;
  /** Changes the cluster. */
  readonly write: boolean;
  readonly event: boolean;
}

export class HostileCluster {
  readonly asked: Asked[] = [];
  /** What is wrong with our own requests to it. */
  readonly problems: string[] = [];
  readonly #store = new Store();
  readonly #random: Random;
  readonly #clock: Pick<VirtualClock, "sleep">;
  readonly #hostility: number;
  /** Of every answer. What goes on after an answer ends by the clock, so a slow cluster makes for a quick run. */
  readonly #seconds: number;

  constructor(random: Random, clock: Pick<VirtualClock, "sleep">) {
    this.#random = random;
    this.#clock = clock;
    this.#hostility = random.pick([0, 0, 0.02, 0.1, 0.5]);
    this.#seconds = random.pick([0.1, 0.4, 0.8, 0.8]);
    situate(this.#store, random);
  }

  readonly fetch = async (address: string, init: RequestInit): Promise<Response> => {
    const url = new URL(address);
    const { method = "GET", signal } = init;
    this.#check(address, url, init);
    const dryRun = url.searchParams.get("dryRun") === "All";
    const request = `${method} ${url.pathname}${url.search}`;
    const event = method === "POST" && url.pathname.endsWith("/events");
    this.asked.push({ origin: origin.getStore(), request, write: method !== "GET" && !dryRun, event });
    const body: Json | undefined = typeof init.body === "string" ? JSON.parse(init.body) : undefined;
    const good = this.#store.answer({ method, path: url.pathname, query: url.searchParams, body });
    const outcome: Outcome = this.#random.chance(this.#hostility)
      ? misbehave(good, this.#random)
      : { kind: "Reply", reply: good };
    return await this.#deliver(outcome, good, signal ?? undefined);
  };

  async #deliver(outcome: Outcome, good: { code: number; text: string }, signal?: AbortSignal): Promise<Response> {
    const seconds = outcome.kind === "Slow" ? outcome.seconds : outcome.kind === "Never" ? Infinity : this.#seconds;
    await this.#wait(seconds, signal);
    switch (outcome.kind) {
      case "Broken":
        if (!outcome.within) throw new TypeError("fetch failed");
        return new Response(new ReadableStream({ pull: (c) => c.error(new TypeError("terminated")) }));
      case "Reply": {
        const { code, text } = outcome.reply;
        return new Response(text, { status: code, ...(outcome.headers && { headers: outcome.headers }) });
      }
      case "Slow":
      case "Never":
        return new Response(good.text, { status: good.code });
    }
  }

  async #wait(seconds: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const aborted = new Promise<never>((_, reject) => {
      // eslint-disable-next-line typescript/prefer-promise-reject-errors -- as fetch does
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    await Promise.race([aborted, ...(seconds === Infinity ? [] : [this.#clock.sleep(seconds * 1000)])]);
  }

  /** Whatever is read from annotations and bodies, no request leaves its collection or goes out as somebody else. */
  #check(address: string, url: URL, init: RequestInit): void {
    const headers = new Headers(init.headers);
    const as = headers.get("impersonate-user") ?? ":kubevirt-apiserver";
    const path = address.slice(url.origin.length).split("?")[0];
    const wrong = [
      [url.origin !== SERVER && url.origin !== BOUND_SERVER, `a request to ${url.origin}`],
      [path !== url.pathname, `a path that leads elsewhere: ${path}`],
      [!as.endsWith(":kubevirt-apiserver"), `a request as ${as}`],
      [headers.get("authorization") !== `Bearer ${SECRETS.token}`, "a request without the service account's token"],
      [init.redirect !== "manual", "a request that follows redirects"],
      [init.signal === undefined || init.signal === null, "a request without a deadline"],
    ] as const;
    for (const [isWrong, problem] of wrong) if (isWrong) this.problems.push(problem);
  }
}
