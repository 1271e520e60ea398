/**
 * Configurations at the edge of what is accepted: secrets a byte too short, headers that are almost others, a second too many.
 * Owns: generating them. Does not own: what is accepted (test/config), what mutation makes of valid ones
 * (config-properties.ts).
 */
import * as fc from "fast-check";
import { almost } from "../mostly.ts";

const secretOf = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`;
const secretOfLength = (least: number, most: number) =>
  fc.uint8Array({ minLength: least, maxLength: most }).map(secretOf);
const token = fc.stringMatching(/^[!-~]{16,20}$/);
const badToken = fc.oneof(
  fc.stringMatching(/^[!-~]{0,15}$/),
  fc.stringMatching(/^[!-~]{15}$/),
  fc.stringMatching(/^[!-~]{8} [!-~]{8}$/),
  fc.stringMatching(/^[!-~]{16}[\n\u00e9\u{1f4a5}]$/u),
);
const headersCalled = (...names: readonly string[]) =>
  fc.dictionary(fc.constantFrom(...names), fc.string({ unit: "grapheme-ascii" }), { minKeys: 1, maxKeys: 1 });

const usualEntry: fc.Arbitrary<object> = fc.record(
  {
    server: fc.constantFrom("https://api.example.com", "http://[::1]:8001/k8s", "binding:PROD"),
    token,
    webhookToken: token,
    operatorToken: token,
    relaySecret: fc.oneof(secretOfLength(24, 64), fc.array(secretOfLength(24, 64), { minLength: 1, maxLength: 2 })),
    headers: headersCalled("x-access", "CF-Access-Client-Id", "__proto__", "x-impersonate-user"),
  },
  { requiredKeys: ["server", "token", "webhookToken"] },
);
const oddEntry: fc.Arbitrary<object> = fc.record({
  server: fc.constantFrom(
    "http://127.0.0.1.example.com",
    "https://a@b",
    "https://a?",
    "https://a#",
    "https:a",
    "ftp://a",
  ),
  token: badToken,
  webhookToken: badToken,
  operatorToken: badToken,
  relaySecret: fc.oneof(secretOfLength(22, 23), secretOfLength(65, 66), fc.array(secretOfLength(0, 24))),
  headers: headersCalled("AUTHORIZATION", "Accept", "content-Type", "user-agent", "Impersonate-Extra-a", "x y"),
});

/** Of `CLUSTERS`, and of the registry. */
export const edgeEntry = almost(usualEntry, oddEntry);

const seconds = [fc.constantFrom(0, -0, 1e-300, 0.5, 20, 604_800), fc.constantFrom(-1, -1e-9, 604_801, 1e308)] as const;
const flag = [fc.boolean(), fc.constantFrom("Auto", 1, [])] as const;
const wordOf = (...words: readonly string[]) =>
  [fc.constantFrom(...words), fc.constantFrom(true, words.join(""))] as const;

const mode = wordOf("Auto", "Enabled", "Disabled");

/** Of each key what is usual, and what is next to that. */
const KEYS: Readonly<Record<string, readonly [usual: fc.Arbitrary<unknown>, odd: fc.Arbitrary<unknown>]>> = {
  "featureGates.DeschedulerSupport": flag,
  marking: wordOf("Impersonate", "Evict", "Auto"),
  "reconcilers.evacuation": flag,
  "reconcilers.budget": mode,
  "reconcilers.annotations": mode,
  "reconcilers.disruption": flag,
  "reconcilers.pressure": flag,
  "evacuation.maxAttempts": [fc.constantFrom(1, 5, 2 ** 53 - 1), fc.constantFrom(0, -1, 1.5, 2 ** 53)],
  "evacuation.backoffSeconds": seconds,
  "evacuation.maxBackoffSeconds": seconds,
  "evacuation.adoptSeconds": seconds,
  "evacuation.stuckSeconds": seconds,
  "evacuation.historySeconds": seconds,
  "guard.mode": wordOf("Off", "Deny", "Hold", "Auto"),
  "guard.deadlineSeconds.Preemption": seconds,
  "guard.deadlineSeconds.NoExecuteTaint": seconds,
  "guard.maxHolds": [fc.constantFrom(0, 8), fc.constantFrom(-1, 0.5, 2 ** 53)],
  "guard.requesters": [fc.constantFrom(["a"], ["a", "b"]), fc.constantFrom([], [1], "a")],
  "descheduling.intervalSeconds": seconds,
};
const NO_NUMBERS = fc.constantFrom(Number.NaN, Infinity, "1", null);
const usualKeys: fc.Arbitrary<object> = fc.record(
  each(([usual]) => usual),
  { requiredKeys: [] },
);
const oddKeys: fc.Arbitrary<object> = fc.record(each(([, odd]) => fc.oneof({ weight: 4, arbitrary: odd }, NO_NUMBERS)));

function each(pick: (of: (typeof KEYS)[string]) => fc.Arbitrary<unknown>) {
  return Object.fromEntries(Object.entries(KEYS).map(([key, of]) => [key, pick(of)]));
}

/** Specs of LifeboatConfigurations. */
export const edgeConfiguration = almost(usualKeys, oddKeys).map((keys) => {
  const configuration: Nested = {};
  for (const [key, value] of Object.entries(keys)) put(configuration, key.split("."), value);
  return configuration;
});

interface Nested {
  [key: string]: unknown;
}

function put(into: Nested, [key = "", ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) return void (into[key] = value);
  const inner: Nested = { ...Object(into[key]) };
  into[key] = inner;
  put(inner, rest, value);
}
