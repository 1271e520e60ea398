/** Tests forms that another site sends, valid forms, and the headers that isolate the page. */
import { beforeAll, expect, test } from "vitest";
import { clusterWith } from "../../support/cluster/one-vm.ts";
import { tokenOf } from "../../support/cluster/tokens.ts";
import type { FakeCluster } from "../../support/cluster.ts";
import { entry } from "../../support/app.ts";
import { arrive, ORIGIN, type PageVisitor } from "./support/visitor.ts";

let server: FakeCluster;
let visitor: PageVisitor;
beforeAll(async () => {
  server = clusterWith();
  visitor = arrive({ env: { CLUSTERS: { prod: entry(server.url) } } });
  await visitor.post("/signin", { token: tokenOf() });
});

/** security/strangers.test.ts tests that all other paths refuse a form of another site. */
const PATH = "/signin";
const type = { "content-type": "application/x-www-form-urlencoded" };
const evil = "https://evil.example";

// prettier-ignore
const STRANGE: readonly (readonly [string, Readonly<Record<string, string>>, code: number])[] = [
  ["of another site is refused",                          { ...type, origin: evil, "sec-fetch-site": "cross-site" },              403],
  ["of another host of the same site is refused",         { ...type, origin: "https://a.example", "sec-fetch-site": "same-site" }, 403],
  ["of another port is refused",                          { ...type, origin: `${ORIGIN}:8443` },                                  403],
  ["of a sandboxed frame is refused",                     { ...type, origin: "null", "sec-fetch-site": "cross-site" },            403],
  ["without an origin is refused",                        type,                                                                   403],
  ["whose origin starts like Lifeboat's is refused",      { ...type, origin: `${ORIGIN}.evil.example` },                          403],
];

test.each(STRANGE)("a form %s", async (_, headers, code) => {
  const requests = server.requests.length;
  expect((await visitor.post(PATH, { token: tokenOf() }, headers)).code).toBe(code);
  expect(server.requests).toHaveLength(requests);
});

test("a form larger than a token needs is refused", async () => {
  expect((await visitor.post(PATH, { token: "x".repeat(16 * 1024) })).code).toBe(413);
});

test.each<Readonly<Record<string, string>>>([
  { ...type, origin: ORIGIN },
  { ...type, "sec-fetch-site": "same-origin" },
  { ...type, "sec-fetch-site": "same-origin", origin: "null" },
  { "content-type": "application/x-www-form-urlencoded; charset=UTF-8", origin: ORIGIN },
])("a form of the page itself, as browsers send it, is accepted: %o", async (headers) => {
  const there = arrive({ env: { CLUSTERS: { prod: entry(server.url) } } });
  expect((await there.post("/signin", { token: tokenOf() }, headers)).code).toBe(303);
});

// prettier-ignore
const HEADERS: readonly (readonly [string, string])[] = [
  ["content-security-policy",    "frame-ancestors 'none'"],
  ["content-security-policy",    "default-src 'none'"],
  ["content-security-policy",    "script-src 'self'"],
  ["content-security-policy",    "form-action 'self'"],
  ["content-security-policy",    "base-uri 'none'"],
  ["x-frame-options",            "DENY"],
  ["x-content-type-options",     "nosniff"],
  ["referrer-policy",            "same-origin"],
  ["strict-transport-security",  "max-age=31536000"],
  ["cross-origin-opener-policy", "same-origin"],
  ["cross-origin-resource-policy", "same-origin"],
  ["cache-control",              "no-store"],
];

test.each(["/signin", "/fleet/prod", "/fleet/nowhere"])(
  "%s may not be framed or cached, and runs only Lifeboat's own script",
  async (path) => {
    const { headers, text } = await visitor.get(path);
    for (const [name, value] of HEADERS) expect(headers.get(name), name).toContain(value);
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
    expect(text).not.toMatch(/ style=| on\w+=|<style|<script(?! src="\/assets\/)/);
  },
);
