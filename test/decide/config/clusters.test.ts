/**
 * Tests `CLUSTERS` and the entries of the registry. The message about an invalid entry contains the field and the
 * expected value. Other entries remain valid.
 */
import { describe, expect, test } from "vitest";
import { parseClusters, parseRegistryEntry, problemsOf } from "../../../shared/settings/clusters.ts";

const VALID = { server: "https://api.example.com:6443", token: "secret-1", webhookToken: "secret-2-of-16-c" };
const NON_TOKEN = "expected a token, without spaces or line breaks";
const NON_DOOR_TOKEN = "expected a token of at least 16 characters, without spaces or line breaks";
const NO_SECRET = "expected whsec_ and the base64 of 24 to 64 bytes";
const NO_SERVER = "expected an https:// URL, http:// to loopback, or binding:NAME of a Workers VPC service";

/** Returns a secret of this many bytes. Its base64 text contains a slash. */
function secretOf(bytes: number): string {
  return `whsec_${Buffer.alloc(bytes, 0xff).toString("base64")}`;
}

function problems(clusters: unknown) {
  return problemsOf(parseClusters(JSON.stringify(clusters)));
}

describe("a cluster's entry", () => {
  test("needs only a server and two tokens, and gets no headers", () => {
    const parsed = parseClusters(JSON.stringify({ prod: VALID }));
    expect(parsed.ok && parsed.value.get("prod")).toEqual({ ok: true, value: { ...VALID, headers: {} } });
  });

  test("may have more tokens, relay secrets and headers", () => {
    const full = {
      ...VALID,
      webhookToken: ["secret-2-of-16-c", "secret-5-of-16-c"],
      operatorToken: "secret-3-of-16-c",
      relaySecret: [secretOf(24), secretOf(64)],
      headers: { "CF-Access-Client-Id": "id", "CF-Access-Client-Secret": "secret-4" },
    };
    const parsed = parseClusters(JSON.stringify({ prod: full }));
    expect(parsed.ok && parsed.value.get("prod")).toEqual({ ok: true, value: full });
  });
});

describe("a cluster's server", () => {
  test.each(["https://api.example.com:6443/", "http://localhost:8001", "http://127.0.0.1:8001", "binding:PROD_API"])(
    "may be %s",
    (server) => {
      expect(problems({ prod: { ...VALID, server } })).toEqual([]);
    },
  );

  test.each([
    "api.example.com",
    "http://api.example.com",
    "http://127.0.0.1.example.com",
    "https://user:secret-5@api.example.com",
    "https://api.example.com/#",
    "https://api.example.com\n",
    "binding:1A",
  ])("may not be %j", (server) => {
    expect(problems({ prod: { ...VALID, server } })).toEqual([{ field: "CLUSTERS.prod.server", message: NO_SERVER }]);
  });
});

describe("a malformed entry", () => {
  const { token: _, ...withoutToken } = VALID;
  // prettier-ignore
  test.each([
    ["a missing key",                 withoutToken,                                ".token",             "expected a token"],
    ["a server that is a number",      { ...VALID, server: 6443 },                  ".server",            "expected a text"],
    ["a webhookToken of 15 characters",          { ...VALID, webhookToken: "secret-5-secret" }, ".webhookToken",    NON_DOOR_TOKEN],
    ["an empty list of webhookTokens",              { ...VALID, webhookToken: [] },              ".webhookToken",      "expected at least one entry"],
    ["a list with a short webhookToken",        { ...VALID, webhookToken: [VALID.webhookToken, "secret-5"] }, ".webhookToken.1", NON_DOOR_TOKEN],
    ["a null operatorToken",          { ...VALID, operatorToken: null },           ".operatorToken",     "expected a token"],
    ["a relay secret of 65 bytes",    { ...VALID, relaySecret: secretOf(65) },     ".relaySecret",       NO_SECRET],
    ["a relay secret of truncated base64",                { ...VALID, relaySecret: secretOf(32).slice(0, -1) },    ".relaySecret", NO_SECRET],
    ["a header of two lines",         { ...VALID, headers: { "x-a": "secret-5\r\nx" } }, ".headers.x-a", "expected a text without line breaks"],
    ["a header that Lifeboat sets",          { ...VALID, headers: { Authorization: "secret-5" } }, ".headers.Authorization", "expected a header that Lifeboat does not set itself"],
    ["a header that impersonates a user", { ...VALID, headers: { "Impersonate-User": "admin" } }, ".headers.Impersonate-User", "expected a header that Lifeboat does not set itself"],
    ["an unknown key",                { ...VALID, webHookToken: "secret-5" },      ".webHookToken",      "unknown key"],
  ])("with %s is refused, and the problem names the field and the expected value", (_, entry, field, message) => {
    const found = problems({ prod: entry });
    expect(found).toEqual([{ field: `CLUSTERS.prod${field}`, message: expect.stringContaining(message) }]);
    expect(JSON.stringify(found)).not.toContain("secret-5");
  });

  test("does not affect other entries", () => {
    const parsed = parseClusters(JSON.stringify({ bad: {}, good: VALID, worse: 1 }));
    expect(parsed.ok && parsed.value.get("good")).toMatchObject({ ok: true });
    expect(problemsOf(parsed).map(({ field }) => field)).toEqual([
      "CLUSTERS.bad.server",
      "CLUSTERS.bad.token",
      "CLUSTERS.bad.webhookToken",
      "CLUSTERS.worse",
    ]);
  });
});

describe("the variable CLUSTERS", () => {
  // prettier-ignore
  test.each([
    ["that is not JSON",          '{"prod": secret-5}',       "expected JSON"],
    ["that is a list",            '["secret-5"]',             "expected record"],
  ])("%s is refused without repeating its content", (_, text, message) => {
    const found = problemsOf(parseClusters(text));
    expect(found).toEqual([{ field: "CLUSTERS", message: expect.stringContaining(message) }]);
    expect(JSON.stringify(found)).not.toContain("secret-5");
  });

  test("may be absent, which means no clusters", () => {
    expect(parseClusters(undefined)).toEqual({ ok: true, value: new Map() });
  });

  test.each(["__proto__", "constructor", "toString"])("may name a cluster %s", (name) => {
    const parsed = parseClusters(`{${JSON.stringify(name)}: ${JSON.stringify(VALID)}}`);
    expect(parsed.ok && [...parsed.value.keys()]).toEqual(name === "__proto__" ? [] : [name]);
  });
});

describe("an entry of the registry", () => {
  // prettier-ignore
  test.each([
    ["that is not JSON",           "secret-5",                                     "CLUSTER_REGISTRY.far",       "expected JSON"],
    ["with a malformed field",     JSON.stringify({ ...VALID, token: "secret 5" }), "CLUSTER_REGISTRY.far.token", NON_TOKEN],
  ])("%s is refused, and the problem names the registry", (_, text, field, message) => {
    expect(parseRegistryEntry(text, "far")).toEqual({ ok: false, problems: [{ field, message }] });
  });
});
