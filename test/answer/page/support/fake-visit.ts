/** A visit of a page over a fake cluster: read and rendered, without HTTP. */
import type { Html } from "../../../../functions/page/components.ts";
import type { Shown } from "../../../../functions/page/layout.ts";
import type { Visit, Visitor } from "../../../../functions/page/session.ts";
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
export async function look(shown: Promise<Shown>): Promise<string> {
  return await textOf((await shown).main);
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
