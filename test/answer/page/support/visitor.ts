/** Simulates a visitor: sends forms as a browser does, and keeps the cookie. */
import type { Platform } from "../../../../functions/env.ts";
import { COOKIE, signGrant } from "../../../../functions/page/session.ts";
import { type Answer, type App, entry, openApp, type TestEnv } from "../../../support/app.ts";
import type { Before, FakeCluster } from "../../../support/cluster.ts";
import { NOW } from "../../../support/fixtures.ts";

export const ORIGIN = "https://lifeboat.example";

/** The headers that browsers send with a form of the page itself. */
export const OWN_FORM = {
  "content-type": "application/x-www-form-urlencoded",
  origin: ORIGIN,
  "sec-fetch-site": "same-origin",
};

export interface PageAnswer extends Answer {
  readonly location: string | null;
}

export interface PageVisitor extends Pick<App, "pass" | "log" | "now" | "settle"> {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<PageAnswer>;
  post(
    path: string,
    form: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PageAnswer>;
  cookie: string | undefined;
}

interface Arrival {
  readonly env: TestEnv;
  readonly start?: Date;
  readonly instead?: Partial<Platform>;
}

export function arrive({ env, start = NOW, instead }: Arrival): PageVisitor {
  const app = openApp(env, undefined, instead);
  app.pass((start.getTime() - NOW.getTime()) / 1000);
  const visitor: PageVisitor = {
    ...app,
    cookie: undefined,
    get: async (path, headers = {}) => await ask(path, { headers }),
    post: async (path, form, headers = OWN_FORM) =>
      await ask(path, { method: "POST", headers, body: new URLSearchParams(form).toString() }),
  };
  const ask = async (path: string, { headers: sent, ...init }: Sent) => {
    const cookie = visitor.cookie === undefined ? {} : { cookie: `${COOKIE}=${visitor.cookie}` };
    const headers = { accept: "text/html", ...cookie, ...sent };
    const answer = await app.request(`${ORIGIN}${path}`, { ...init, headers });
    for (const set of answer.headers.getSetCookie()) visitor.cookie = kept(set);
    return { ...answer, location: answer.headers.get("location") };
  };
  return visitor;
}

interface SignedIn {
  readonly before?: Before;
}

export async function arriveAt(
  clusters: Readonly<Record<string, FakeCluster>>,
  { before }: SignedIn = {},
): Promise<PageVisitor> {
  const entries = Object.keys(clusters).map((name) => [name, entry(`https://${name}.example`)] as const);
  const fetchFake: Platform["fetch"] = async (url, init) => {
    const [name = ""] = new URL(url).hostname.split(".");
    const answer = await clusters[name]?.api.fetch(before)(url, init);
    return answer ?? Response.error();
  };
  const there = arrive({ env: { CLUSTERS: Object.fromEntries(entries) }, instead: { fetch: fetchFake } });
  for (const fake of Object.values(clusters)) fake.now = there.now;
  const until = NOW.getTime() / 1000 + 3600;
  const grants = entries.map(([cluster, its]) => {
    const grant = { name: "jane", cluster, until };
    return signGrant(grant, { ...its, headers: {} });
  });
  there.cookie = (await Promise.all(grants)).join("~");
  return there;
}

export function mainOf({ text }: PageAnswer): string {
  return /<main.*<\/main>/s.exec(text)?.[0] ?? "";
}

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

/** A tenant can put this text into a name or a message. */
export const HOSTILE = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>\u202e\u0007\u0000&amp;`;

/** Returns true if a page shows `HOSTILE` as text, without markup and control characters. */
export function isEscaped(main: string): boolean {
  const isMarkup = ["<script>alert", "<img src=x", `"'>`].some((markup) => main.includes(markup));
  return !isMarkup && !["\u202e", "\u0007", "\u0000"].some((unseen) => main.includes(unseen));
}

type Sent = Omit<RequestInit, "headers"> & { readonly headers: Readonly<Record<string, string>> };

function kept(set: string): string | undefined {
  const [, value = ""] = /^__Host-lifeboat=([^;]*)/.exec(set) ?? [];
  return value === "" || /max-age=0/i.test(set) ? undefined : value;
}
