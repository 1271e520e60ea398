/** A visitor without a browser: sends forms as a browser does, keeps the cookie. */
import { createApp } from "../../../../functions/app.ts";
import type { Env } from "../../../../functions/env.ts";
import { newIsolateState } from "../../../../functions/target.ts";
import { COOKIE } from "../../../../functions/page/session.ts";
import { type Before, newPlatform } from "../../../support/doors.ts";

export const ORIGIN = "https://lifeboat.example";

/** As browsers send with a form of the page's own. */
export const OWN_FORM = {
  "content-type": "application/x-www-form-urlencoded",
  origin: ORIGIN,
  "sec-fetch-site": "same-origin",
};

export interface PageAnswer {
  readonly code: number;
  readonly text: string;
  readonly location: string | null;
  readonly headers: Headers;
}

type World = ReturnType<typeof newPlatform>["world"];

export interface PageVisitor extends Pick<World, "pass" | "log" | "now" | "settle"> {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<PageAnswer>;
  post(
    path: string,
    form: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PageAnswer>;
  /** What the browser keeps. */
  cookie: string | undefined;
}

interface Arrival {
  readonly env: Omit<Env, "CLUSTERS"> & { readonly CLUSTERS: unknown };
  readonly before?: Before;
  readonly start?: Date;
  readonly fetch?: Parameters<typeof newPlatform>[2];
}

export function arrive({ env: { CLUSTERS, ...others }, before, start, fetch: instead = {} }: Arrival): PageVisitor {
  const { platform, context, world } = newPlatform(before, start, instead);
  const app = createApp(platform, newIsolateState());
  const env: Env = { ...others, CLUSTERS: JSON.stringify(CLUSTERS) };
  const visitor: PageVisitor = {
    ...world,
    cookie: undefined,
    get: async (path, headers = {}) => await ask(path, { headers }),
    post: async (path, form, headers = OWN_FORM) =>
      await ask(path, { method: "POST", headers, body: new URLSearchParams(form).toString() }),
  };
  const ask = async (path: string, { headers: sent, ...init }: Sent) => {
    const cookie = visitor.cookie === undefined ? {} : { cookie: `${COOKIE}=${visitor.cookie}` };
    const headers = { accept: "text/html", ...cookie, ...sent };
    const answer = await app.request(`${ORIGIN}${path}`, { ...init, headers }, env, context);
    for (const set of answer.headers.getSetCookie()) visitor.cookie = kept(set);
    const text = await answer.text();
    return { code: answer.status, text, location: answer.headers.get("location"), headers: answer.headers };
  };
  return visitor;
}

type Sent = Omit<RequestInit, "headers"> & { readonly headers: Readonly<Record<string, string>> };

function kept(set: string): string | undefined {
  const [, value = ""] = /^__Host-lifeboat=([^;]*)/.exec(set) ?? [];
  return value === "" || /max-age=0/i.test(set) ? undefined : value;
}
