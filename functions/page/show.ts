/**
 * Shows a live page: as a document, or as a stream of what its `main` becomes.
 * Owns: reading through what other watchers have read, headers of the answer, the stream's life. Does not own: what is shown.
 */
import { html } from "hono/html";
import { streamSSE } from "hono/streaming";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { layout } from "./layout.ts";
import type { RecentReads } from "./recent.ts";
import type { Html, LivePage, PageContext, Seen, Visit } from "./visit.ts";

/** A stream ends after so long, and the browser opens the next one: a Worker's invocation has a limited number of requests. */
const STREAM_MS = 4 * 60_000;
const REFRESH_MS = 2000;

export async function show<F>(
  c: PageContext,
  page: LivePage<F>,
  { visit, recent }: { readonly visit: Visit; readonly recent: RecentReads<F> },
): Promise<Response> {
  const shared = { ...page, key: `${visit.target.name} ${page.key}` };
  if (c.req.header("accept")?.includes("text/event-stream") === true) return stream(c, shared, { visit, recent });
  const main = await mainOf(shared, visit, recent);
  return c.html(await layout({ title: page.title, visitor: visit.visitor.name, stream: c.req.path, main }));
}

async function mainOf<F>(page: LivePage<F>, visit: Visit, recent: RecentReads<F>): Promise<Html> {
  const { platform, name: cluster } = visit.target;
  const seen = (readAt: Date): Seen => ({ cluster, visitor: visit.visitor, now: platform.now(), readAt });
  try {
    const { facts, readAt } = await recent.get(page, platform);
    return page.view(facts, seen(readAt));
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const last = recent.last(page.key);
    const banner = html`<p role="alert">The API server of ${cluster} cannot be reached: ${error.message}</p>`;
    return last === undefined ? banner : html`${banner}${page.view(last.facts, seen(last.readAt))}`;
  }
}

function stream<F>(
  c: PageContext,
  page: LivePage<F>,
  from: { readonly visit: Visit; readonly recent: RecentReads<F> },
) {
  const { platform } = from.visit.target;
  const end = platform.now().getTime() + STREAM_MS;
  return streamSSE(c, async (events) => {
    while (!events.aborted && platform.now().getTime() < end) {
      await events.writeSSE({ event: "main", data: String(await mainOf(page, from.visit, from.recent)) });
      await platform.sleep(REFRESH_MS);
    }
  });
}
