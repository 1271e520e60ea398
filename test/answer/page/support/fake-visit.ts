/** A visit of a page over a fake cluster: read and rendered, without HTTP. */
import type { Html } from "../../../../functions/page/components.ts";
import type { Recent } from "../../../../functions/page/stream.ts";
import type { Visitor } from "../../../../functions/page/session.ts";
import type { LivePage } from "../../../../functions/page/stream.ts";
import type { Visit } from "../../../../functions/page/visits.ts";
import type { Before } from "../../../support/fake-cluster.ts";
import type { FakeCluster } from "../../../support/fake-cluster.ts";
import { type FakeDoors, openFakeDoors } from "../../../support/fake-doors.ts";

interface VisitOptions {
  readonly cluster?: string;
  readonly before?: Before;
  readonly visitor?: Partial<Visitor>;
  /** Lifeboat's own, of the cluster. */
  readonly token?: string;
}

export interface FakeVisit extends Visit {
  readonly doors: FakeDoors;
}

export function visitTo(
  fake: FakeCluster,
  { cluster = "prod", before, visitor, ...tweak }: VisitOptions = {},
): FakeVisit {
  const doors = openFakeDoors(fake, before, tweak);
  return { doors, target: { ...doors.target, name: cluster }, visitor: { name: "operator", mayAct: true, ...visitor } };
}

/** What the page shows in `main`. */
export async function look<F>(page: LivePage<F>, visit: Visit): Promise<string> {
  return await watching(page, visit)();
}

/** The same, again and again: each reading knows the one before. */
export function watching<F>(page: LivePage<F>, { target, visitor }: Visit): () => Promise<string> {
  let last: Recent<F> | undefined;
  return async () => {
    const readAt = target.platform.now();
    last = { facts: await page.read(last), readAt };
    return await textOf(page.view(last.facts, { cluster: target.name, visitor, now: target.platform.now() }));
  };
}

export async function textOf(content: Html): Promise<string> {
  return String(await content);
}

/** Without markup, and spaces joined: as it is read. */
export function words(main: string): string {
  return main
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** What a tenant may put into a name or a message. */
export const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>\u202e\u0007\u0000&amp;`;

/** Whether nothing of `HOSTILE` is markup, and nothing turns the text around it. */
export function isEscaped(main: string): boolean {
  const isMarkup = ["<script>alert", "<img src=x", `"'>`].some((markup) => main.includes(markup));
  return !isMarkup && !["\u202e", "\u0007", "\u0000"].some((unseen) => main.includes(unseen));
}
