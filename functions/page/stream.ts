/** A page's stream of server-sent events: `main`, its content, whenever that has changed, and `asof`, how old it is in seconds. */
import { streamSSE } from "hono/streaming";
import type { Platform } from "../env.ts";
import { RejectionError } from "../rejection.ts";
import type { PageContext } from "./visit.ts";

export interface Look {
  /** Rendered. */
  readonly main: string;
  readonly ageSeconds: number;
}

/**
 * Then the browser opens the next one. A Worker's invocation may make a limited number of requests (10,000 on a paid plan), and a
 * session ends while its page is open.
 */
const STREAM_MS = 4 * 60_000;
const LOOK_MS = 2000;
/** Durations on the page grow although nothing happens. */
const RENEW_MS = 30_000;
/** After which the browser asks again. */
const RETRY_MS = 1000;

export function stream(c: PageContext, look: () => Promise<Look>, { now, sleep, log }: Platform): Response {
  const begun = now().getTime();
  const answer = streamSSE(c, async (events) => {
    let sent: { readonly main: string; readonly at: number } | undefined;
    while (!events.aborted && now().getTime() - begun < STREAM_MS) {
      const found = await look().catch((error: unknown) => {
        // What is not there any more is shown by the next visit, which the browser begins when the stream ends.
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
      await sleep(LOOK_MS);
    }
  });
  answer.headers.set("cache-control", "no-store");
  return answer;
}

/** That it has become later is no news. */
function withoutTimes(main: string): string {
  return main.replaceAll(/<time[^>]*>[^<]*<\/time>/g, "");
}
