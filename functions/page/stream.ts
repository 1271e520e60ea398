/** Shows a page over facts that change: as a document, or as a stream of what its `main` becomes; and keeps what was read for it. */
import { html } from "hono/html";
import { streamSSE } from "hono/streaming";
import { ClusterError } from "../../shared/kube/failures.ts";
import type { Platform } from "../env.ts";
import { RejectionError } from "../errors.ts";
import { ago, commandLine, type Html, notice, sentence } from "./components.ts";
import { layout } from "./layout.ts";
import type { Visitor } from "./session.ts";
import type { PageContext } from "./visits.ts";

/**
 * What pages have read lately, kept for the other visitors of this isolate. A promise is never shared: workerd lets no request wait for
 * another's I/O.
 */
export interface Recent<F> {
  readonly facts: F;
  readonly readAt: Date;
}

interface Slot<F> {
  last?: Recent<F>;
  /** Another request reads it since then. */
  readingSince?: number;
}

/** How long another request's reading is waited for, and how often it is looked after. */
const TIMEOUT_MS = 10_000;
const ASK_AGAIN_MS = 100;
const MOST_KEPT = 64;

export interface Reading<F> {
  readonly key: string;
  readonly maxAgeMs: number;
  /** `last`: what was read before, of which it may keep what changes slowly. */
  read(last: Recent<F> | undefined): Promise<F>;
}

interface Clock {
  readonly now: () => Date;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Of one kind of page. */
export class RecentReads<F> {
  readonly #slots = new Map<string, Slot<F>>();
  readonly #mostKept: number;

  constructor(mostKept = MOST_KEPT) {
    this.#mostKept = mostKept;
  }

  /** What was read last, however old. */
  last(key: string): Recent<F> | undefined {
    return this.#slots.get(key)?.last;
  }

  /** Not older than `maxAgeMs`. Where many ask at the same time, one of them reads. */
  async get(reading: Reading<F>, clock: Clock): Promise<Recent<F>> {
    const slot = this.#slotOf(reading.key);
    for (;;) {
      const now = clock.now().getTime();
      const last = slot.last;
      if (last !== undefined && now - last.readAt.getTime() <= reading.maxAgeMs) return last;
      if (slot.readingSince === undefined || now - slot.readingSince > TIMEOUT_MS) break;
      await clock.sleep(ASK_AGAIN_MS);
    }
    const readAt = clock.now();
    slot.readingSince = readAt.getTime();
    try {
      const recent = { facts: await reading.read(slot.last), readAt };
      slot.last = recent;
      return recent;
    } finally {
      delete slot.readingSince;
    }
  }

  /** The slot that was asked for longest ago makes room, but for one that is being read: others wait for it. */
  #slotOf(key: string): Slot<F> {
    const slot = this.#slots.get(key) ?? {};
    this.#slots.delete(key);
    this.#slots.set(key, slot);
    for (const [oldest, { readingSince }] of this.#slots) {
      if (this.#slots.size <= this.#mostKept) break;
      if (oldest !== key && readingSince === undefined) this.#slots.delete(oldest);
    }
    return slot;
  }
}

/** What a view is given beside its facts. */
export interface Seen {
  /** As the cluster is called in `CLUSTERS`; on the fleet's page the empty string. */
  readonly cluster: string;
  readonly visitor: Visitor;
  readonly now: Date;
}

export interface LivePage<F> {
  /** The same for all who look at the same: they share what was read. */
  readonly key: string;
  readonly title: string;
  /** May throw a ClusterError (shown as an unreachable cluster) or a RejectionError (shown as an error page). */
  read(last: Recent<F> | undefined): Promise<F>;
  /** The content of `main`. Pure. */
  view(facts: F, seen: Seen): Html;
}

interface Showing<F> {
  readonly page: LivePage<F>;
  readonly recent: RecentReads<F>;
  readonly cluster: string;
  readonly visitor: Visitor;
  readonly platform: Platform;
  /** What has come of what the visitor has just done: then nothing older is shown. */
  readonly result?: Html | undefined;
}

interface Rendered {
  readonly main: string;
  readonly ageSeconds: number;
}

const MAX_AGE_MS = 2000;
/**
 * Then the browser opens the next one. A Worker's invocation may make a limited number of requests (10,000 on a paid plan), and a
 * session ends while its page is open.
 */
const STREAM_MS = 4 * 60_000;
const INTERVAL_MS = 2000;
/** Durations on the page grow although nothing happens. */
const RENEW_MS = 30_000;
/** After which the browser asks again. */
const RETRY_MS = 1000;

export async function show<F>(c: PageContext, showing: Showing<F>): Promise<Response> {
  c.header("cache-control", "no-store");
  if (c.req.header("accept")?.includes("text/event-stream") === true) return stream(c, showing);
  const { main, ageSeconds } = await render(showing);
  const { page, visitor, result } = showing;
  const live = { path: c.req.path, ageSeconds };
  return c.html(await layout({ title: page.title, visitor: visitor.name, live, result, main }));
}

/** `main`, whenever it has changed, and `asof`, how old it is in seconds. */
function stream<F>(c: PageContext, showing: Showing<F>): Response {
  const { now, sleep, log } = showing.platform;
  const began = now().getTime();
  const answer = streamSSE(c, async (events) => {
    let sent: { readonly main: string; readonly at: number } | undefined;
    while (!events.aborted && now().getTime() - began < STREAM_MS) {
      const found = await render(showing).catch((error: unknown) => {
        // What no longer exists is shown by the next visit, which the browser makes when the stream ends.
        if (!(error instanceof RejectionError))
          log({ level: "error", message: "a page's stream", error: String(error) });
        return undefined;
      });
      if (found === undefined) return;
      const at = now().getTime();
      const main = withoutTimes(found.main);
      if (sent?.main !== main || at - sent.at >= RENEW_MS) {
        await events.writeSSE({ event: "main", data: found.main, retry: RETRY_MS });
        sent = { main, at };
      }
      await events.writeSSE({ event: "asof", data: found.ageSeconds.toFixed(1) });
      await sleep(INTERVAL_MS);
    }
  });
  answer.headers.set("cache-control", "no-store");
  return answer;
}

/** That it has become later is no news. */
function withoutTimes(main: string): string {
  return main.replaceAll(/<time[^>]*>[^<]*<\/time>/g, "");
}

/** What was shown before stays on the page while its cluster cannot be reached. */
async function render<F>({ page, recent, cluster, visitor, platform, result }: Showing<F>): Promise<Rendered> {
  const key = JSON.stringify([cluster, page.key]);
  const rendered = async ({ facts, readAt }: Recent<F>, before: Html | "" = ""): Promise<Rendered> => {
    const now = platform.now();
    const main = String(await html`${before}${page.view(facts, { cluster, visitor, now })}`);
    return { main, ageSeconds: (now.getTime() - readAt.getTime()) / 1000 };
  };
  const maxAgeMs = result === undefined ? MAX_AGE_MS : 0;
  try {
    return await rendered(await recent.get({ key, maxAgeMs, read: (last) => page.read(last) }, platform));
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const last = recent.last(key);
    const before = unreachable(error, last && html`What you see below was read ${ago(last.readAt, platform.now())}.`);
    if (last !== undefined) return await rendered(last, before);
    return {
      main: String(
        await html`<h1>${page.title}</h1>
          ${before}`,
      ),
      ageSeconds: 0,
    };
  }
}

function unreachable({ message }: ClusterError, last: Html | undefined): Html {
  return notice(
    "bad",
    html`<p><strong>Lifeboat cannot read from this cluster.</strong> ${last ?? "Nothing has been read from it yet."}</p>
      <p>${sentence(message)} Evictions are then answered as the webhook's <code>failurePolicy</code> says.</p>
      ${commandLine("lifeboat doctor")}`,
  );
}
