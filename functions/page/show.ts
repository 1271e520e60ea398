/** Shows a live page: as a document, or as a stream of what its `main` becomes. */
import { html } from "hono/html";
import { ClusterError } from "../../shared/cluster/failure.ts";
import { layout } from "./layout.ts";
import { actResult } from "./parts/act-words.ts";
import { commandLine, notice } from "./parts/components.ts";
import { ago, sentence } from "./parts/text.ts";
import type { Recent, RecentReads } from "./recent.ts";
import { type Look, stream } from "./stream.ts";
import type { Html, LivePage, PageContext, Seen, Viewing } from "./visit.ts";

interface Showing<F> {
  readonly page: LivePage<F>;
  readonly visit: Viewing;
  readonly recent: RecentReads<F>;
}

export async function show<F>(
  c: PageContext,
  page: LivePage<F>,
  { visit, recent }: Omit<Showing<F>, "page">,
): Promise<Response> {
  const shown = { page: { ...page, key: `${visit.target.name} ${page.key}` }, visit, recent };
  if (c.req.header("accept")?.includes("text/event-stream") === true) {
    return stream(c, () => lookAt(shown), visit.target.platform);
  }
  const done = said(c.req.query("result"));
  // What others have read a moment ago does not show it yet.
  const fresh = done === undefined ? shown : { ...shown, page: { ...shown.page, maxAgeMs: 0 } };
  const { main, ageSeconds } = await lookAt(fresh);
  c.header("cache-control", "no-store");
  const live = { path: c.req.path, ageSeconds };
  return c.html(await layout({ title: page.title, visitor: visit.visitor.name, live, said: done, main }));
}

/** What has come of the act that has led here. */
function said(result: string | undefined): Html | undefined {
  const [mood, words] = actResult(result) ?? [];
  return mood === undefined ? undefined : notice(mood, html`<p>${words}</p>`);
}

/** One that has been shown stays on the page while its cluster cannot be reached. */
async function lookAt<F>({ page, visit, recent }: Showing<F>): Promise<Look> {
  const { name: cluster, platform } = visit.target;
  const rendered = async ({ facts, readAt }: Recent<F>, before: Html | "" = ""): Promise<Look> => {
    const now = platform.now();
    const seen: Seen = { cluster, visitor: visit.visitor, now, readAt };
    const main = String(await html`${before}${page.view(facts, seen)}`);
    return { main, ageSeconds: (now.getTime() - readAt.getTime()) / 1000 };
  };
  try {
    return await rendered(await recent.get(page, platform));
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const last = recent.last(page.key);
    if (last !== undefined) return await rendered(last, unreachable(error, last.readAt, platform.now()));
    const main = await html`<h1>${page.title}</h1>
      ${unreachable(error)}`;
    return { main: String(main), ageSeconds: 0 };
  }
}

function unreachable({ message }: ClusterError, readAt?: Date, now?: Date): Html {
  const seenLast =
    readAt === undefined || now === undefined
      ? "Nothing has been read from it yet."
      : html`What you see below was read ${ago(readAt, now)}.`;
  return notice(
    "bad",
    html`<p><strong>Lifeboat cannot read from this cluster.</strong> ${seenLast}</p>
      <p>${sentence(message)} Evictions are then answered as the webhook's <code>failurePolicy</code> says.</p>
      ${commandLine("lifeboat doctor")}`,
  );
}
