/** The app as a platform runs it: a clock of our own, requests to stubs and fakes, and everything after an answer awaited. */
import { setImmediate } from "node:timers/promises";
import { createApp } from "../../functions/app.ts";
import type { Env, Platform } from "../../functions/env.ts";
import { receiveTicks, runTick } from "../../functions/schedule.ts";
import { newIsolateState } from "../../functions/target.ts";
import { reach } from "./answers.ts";
import { REGISTRY_KEY } from "./sealed.ts";

export const NOW = new Date("2026-11-20T12:00:00.000Z");

export const TOKENS = {
  token: "service-account-token",
  webhookToken: "the-webhook-token",
  operatorToken: "the-operator-token",
} as const;

/** A minimal valid entry, plus a tweak. */
export function entry(server: string, tweak: Readonly<Record<string, unknown>> = {}) {
  return { server, ...TOKENS, ...tweak };
}

export interface Answer {
  readonly code: number;
  readonly contentType: string | null;
  readonly retryAfter: string | null;
  readonly text: string;
  /** Undefined if it is not JSON. */
  readonly body: unknown;
}

export interface Doors {
  request(path: string, init?: RequestInit): Promise<Answer>;
  tick(at: Date): Promise<void>;
  /** Messages of the queue of ticks arrive. */
  receive(...bodies: readonly unknown[]): Promise<void>;
  /** Waits for what goes on after the answers. */
  settle(): Promise<void>;
  now(): Date;
  /** Moves the clock. */
  pass(seconds: number): void;
  readonly log: readonly Readonly<Record<string, unknown>>[];
}

export type TestEnv = Omit<Env, "CLUSTERS"> & { readonly CLUSTERS?: unknown };

/** What happens in the world before a request of ours goes out; throws if it never gets there. */
export type Before = (request: string, init: RequestInit, url: URL) => Promise<void> | void;

/** What the doors are opened with: the clock and the log of a test, and what goes on after an answer. */
export function newPlatform(before: Before = () => undefined, start = NOW, instead: Partial<Platform> = {}) {
  let now = start.getTime();
  const log: Record<string, unknown>[] = [];
  const after: Promise<unknown>[] = [];
  const platform: Platform = {
    fetch: async (url, init) => {
      const parsedUrl = new URL(url);
      const request = `${init.method} ${parsedUrl.pathname}`;
      await before(request, init, parsedUrl);
      return await reach(url, init);
    },
    now: () => new Date(now),
    // Time passes by sleeping only, and sleeping takes no time.
    sleep: async (ms) => {
      now += ms;
      await setImmediate();
    },
    // No deadline passes, unless a test's own clock lets time pass.
    timeout: () => new AbortController().signal,
    // Clusters in the order of their names.
    random: () => 0,
    log: (line) => void log.push(line),
    ...instead,
  };
  const context = {
    waitUntil: (promise: Promise<unknown>) => void after.push(promise),
    passThroughOnException: () => undefined,
    props: {},
  };
  const world = {
    log,
    after,
    async settle() {
      while (after.length > 0) await after.shift();
    },
    now: platform.now,
    pass: (seconds: number) => void (now += seconds * 1000),
  };
  return { platform, context, world };
}

/** `CLUSTERS` may be given as an object. */
export function openDoors({ CLUSTERS, ...others }: TestEnv, before?: Before, instead?: Partial<Platform>): Doors {
  const { platform, context, world } = newPlatform(before, NOW, instead);
  const state = newIsolateState();
  const app = createApp(platform, state);
  const text = typeof CLUSTERS === "string" ? CLUSTERS : JSON.stringify(CLUSTERS);
  const env: Env = { REGISTRY_KEY, ...others, ...(CLUSTERS === undefined ? {} : { CLUSTERS: text }) };
  return {
    ...world,
    request: async (path, init) => await answerOf(await app.request(path, init, env, context)),
    tick: (at) => runTick(at.getTime(), { env, platform, state }),
    receive: (...bodies) => receiveTicks(bodies, { env, platform, state }),
  };
}

export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const contentType = response.headers.get("content-type");
  const retryAfter = response.headers.get("retry-after");
  return { code: response.status, contentType, retryAfter, text, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export const asWebhook = { authorization: `Bearer ${TOKENS.webhookToken}` };
export const asOperator = { authorization: `Bearer ${TOKENS.operatorToken}` };
