/** Pages and resourceVersions of reads: which revision a client gets, which options exclude each other. */
import { expect } from "vitest";
import type { Target } from "./client.ts";
import { contract } from "./contract.ts";
import { configMap, get, patch, post } from "./requests.ts";
import { valueAt } from "./value-at.ts";

const LABELLED = "configmaps?labelSelector=app%3Ds";

async function read(send: Target["send"], query: string) {
  const { body, text } = await send(get(query));
  expect(body.kind, text).toBe("ConfigMapList");
  const meta = (field: string): unknown => valueAt(body, `metadata.${field}`);
  const token = meta("continue");
  return {
    names: valueAt(body, "items.metadata.name"),
    version: String(meta("resourceVersion")),
    remaining: meta("remainingItemCount"),
    next: typeof token === "string" ? `&continue=${encodeURIComponent(token)}` : undefined,
  };
}

contract("pages", ({ asks, given, checks }) => {
  for (const name of ["c0", "c1", "c2"]) {
    given(name, post("configmaps", configMap(name, { metadata: { labels: { app: "s" } } })));
  }
  given("an object behind them", post("configmaps", configMap("z")));
  for (const [limit, names] of [
    ["2", ["c0", "c1"]],
    ["%2B1", ["c0"]],
    ["0", ["c0", "c1", "c2"]],
    ["-1", ["c0", "c1", "c2"]],
    ["2&resourceVersion=0", ["c0", "c1", "c2"]],
  ] as const) {
    asks(`a limit of ${limit}`, get(`${LABELLED}&limit=${limit}`), { code: 200, "items.metadata.name": names });
  }
  for (const none of ["abc", "", "1.5", "1e3"]) {
    asks(`"${none}" as a limit`, get(`configmaps?limit=${none}`), {
      code: 400,
      reason: "BadRequest",
      message: `strconv.ParseInt: parsing "${none}": invalid syntax`,
    });
  }
  checks("the second continues the first, as of the same moment", async (send) => {
    const first = await read(send, `${LABELLED}&limit=2`);
    await send(post("configmaps", configMap("c3", { metadata: { labels: { app: "s" } } })));
    await send(patch("configmaps/c2", "merge", { metadata: { labels: { app: "t" } } }));
    const second = await read(send, `${LABELLED}&limit=1${first.next}`);
    expect(second).toMatchObject({ names: ["c2"], version: first.version });
    expect((await read(send, `${LABELLED}${first.next}`)).names).toEqual(["c2"]);
    await send(patch("configmaps/c2", "merge", { metadata: { labels: { app: "s" } } }));
  });
  checks("one that selects nothing more is promised while objects are left", async (send) => {
    const last = await read(send, `${LABELLED}&limit=4`);
    expect(last.names).toEqual(["c0", "c1", "c2", "c3"]);
    expect(await read(send, `${LABELLED}&limit=4${last.next}`)).toMatchObject({ names: [], next: undefined });
  });
  checks("say how many objects are left, unless they are selected", async (send) => {
    const { remaining, next } = await read(send, "configmaps?limit=1");
    expect((await read(send, `configmaps?limit=1${next}`)).remaining).toBe(Number(remaining) - 1);
    expect((await read(send, `configmaps?limit=${Number(remaining) + 1}`)).next).toBe(undefined);
    expect((await read(send, `${LABELLED}&limit=1`)).remaining).toBe(undefined);
  });
  checks("a token goes with no version", async (send) => {
    const { next } = await read(send, `${LABELLED}&limit=1`);
    expect((await send(get(`${LABELLED}${next}&resourceVersion=1`))).body).toMatchObject({
      code: 400,
      message: "specifying resource version is not allowed when using continue",
    });
    expect((await read(send, `${LABELLED}${next}&resourceVersion=0`)).names).toEqual(["c1", "c2", "c3"]);
  });
  for (const [what, token] of [
    ["none", "zzz"],
    ["no version", { v: "meta.k8s.io/v1", rv: 0, start: "a" }],
    ["no start", { v: "meta.k8s.io/v1", rv: 1, start: "" }],
    ["another form", { v: "meta.k8s.io/v2", rv: 1, start: "a" }],
  ] as const) {
    const text = typeof token === "string" ? token : Buffer.from(JSON.stringify(token)).toString("base64url");
    asks(`a token that has ${what}`, get(`configmaps?limit=2&continue=${text}`), {
      code: 400,
      reason: "BadRequest",
      message: /^invalid continue token: continue key is not valid/,
    });
  }
});

const TOO_LARGE = {
  code: 504,
  reason: "Timeout",
  message: /^Timeout: Too large resource version: 999999999, current: \d+$/,
  "details.causes": [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
  "details.retryAfterSeconds": 1,
};
const NO_NUMBER = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax';

contract("resourceVersions of reads", ({ asks, given, checks }) => {
  given("an object", post("configmaps", configMap("c", { metadata: { labels: { app: "s" } } })));
  checks("exact: the collection as it was; otherwise at least as new", async (send) => {
    const { version } = await read(send, LABELLED);
    await send(patch("configmaps/c", "merge", { metadata: { labels: { app: "t" } } }));
    await send(post("configmaps", configMap("d", { metadata: { labels: { app: "s" } } })));
    const exact = await read(send, `${LABELLED}&resourceVersion=${version}&resourceVersionMatch=Exact`);
    expect(exact).toMatchObject({ names: ["c"], version });
    expect((await read(send, `${LABELLED}&resourceVersion=${version}&limit=9`)).names).toEqual(["c"]);
    for (const newer of ["", "&resourceVersionMatch=NotOlderThan", "&limit=9&resourceVersionMatch=NotOlderThan"])
      expect((await read(send, `${LABELLED}&resourceVersion=${version}${newer}`)).names).toEqual(["d"]);
  });
  for (const any of ["", "0", "1"])
    asks(`an object of "${any}"`, get(`configmaps/c?resourceVersion=${any}`), { code: 200 });
  for (const place of ["configmaps/c", "configmaps/none", "configmaps", "example/widgets"]) {
    asks(`${place} of the future`, get(`${place}?resourceVersion=999999999`), TOO_LARGE);
  }
  asks("a list of exactly the future", get("configmaps?resourceVersion=999999999&limit=1"), TOO_LARGE);
  asks("a list of no version", get("configmaps?resourceVersion=abc"), {
    code: 400,
    reason: "BadRequest",
    message: `invalid resource version: ${NO_NUMBER}`,
  });
  for (const place of ["configmaps/c?", "configmaps?watch=1&"]) {
    asks(`${place} of no version`, get(`${place}resourceVersion=abc`), {
      code: 500,
      reason: undefined,
      message: NO_NUMBER,
    });
  }
});

contract("options that do not go together", ({ asks }) => {
  const match = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden";
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["resourceVersionMatch=Exact", [`${match} unless resourceVersion is provided`]],
    ["resourceVersionMatch=Exact&continue=x&resourceVersion=1", [`${match} when continue is provided`]],
    [
      "resourceVersionMatch=Exact&resourceVersion=0",
      ['resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
    ],
    [
      "resourceVersionMatch=Some&resourceVersion=1",
      ['resourceVersionMatch: Unsupported value: "Some": supported values: "Exact", "NotOlderThan", ""'],
    ],
    ["sendInitialEvents=false", ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"]],
    [
      "watch=1&sendInitialEvents=true",
      ["resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
    ],
    ["watch&resourceVersionMatch=NotOlderThan", [`${match} for watch unless sendInitialEvents is provided`]],
    [
      "watch=1&resourceVersionMatch=Exact&continue=x",
      [
        `${match} for watch unless sendInitialEvents is provided`,
        'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
        `${match} when continue is provided`,
      ],
    ],
  ];
  for (const [query, errors] of rows) {
    const what = errors.length === 1 ? errors[0] : `[${errors.join(", ")}]`;
    asks(query, get(`configmaps?timeoutSeconds=1&${query}`), {
      code: 422,
      reason: "Invalid",
      message: `ListOptions.meta.k8s.io "" is invalid: ${what}`,
    });
  }
  asks("a time that is no number", get("configmaps?watch=1&timeoutSeconds=soon"), { code: 400, reason: "BadRequest" });
});
