/** Draws the addresses of requests: the endpoints, and similar paths. */
import * as fc from "fast-check";
import { oddString } from "../../../support/generators/json.ts";
import { usually } from "../../../support/generators/often.ts";
import { SECRETS } from "../canaries.ts";

/**
 * `prod` is an ordinary cluster, `vpc` has a binding, and `kv` has an entry in the registry. The clusters in
 * `BAD_CLUSTERS` have no valid entry.
 */
const CLUSTERS = ["prod", "prod", "prod", "prod", "vpc", "kv"];
const BAD_CLUSTERS = ["bad", "unbound", "badkv", "nowhere", "constructor", "__proto__"];

// prettier-ignore
const TIMEOUTS = ["10s", "10s", "5s", "30s", "1m0s", "0s", "-1s", "9999999h", "1µs", "10", "", "NaN", "%", "10s&timeout=1s"];

/** Removes lone surrogates, because percent-encoding cannot express them. */
const oddSegment = oddString.map((text) => encodeURIComponent(text.toWellFormed()));

export const clusterName = usually(
  fc.constantFrom(...CLUSTERS),
  usually(fc.constantFrom(...BAD_CLUSTERS), oddSegment, 4),
);

export const timeoutQuery = usually(
  usually(fc.constantFrom(...TIMEOUTS), oddSegment, 20).map((value) => `?timeout=${value}`),
  fc.constant(""),
);

const { webhookToken, operatorToken } = SECRETS;
const TOKENS = [webhookToken, operatorToken];
const MUTATIONS: readonly ((path: string) => string)[] = [
  (path) => `${path}/`,
  (path) => `/${path}`,
  (path) => path.replaceAll("/", "//"),
  (path) => path.replace(/\/([^/]+)$/, "/%2E%2E/$1"),
  (path) => path.replace(/\/([^/]*)$/, "%2F$1"),
  (path) => path.replace(/\/([^/]+)\//, "/./$1/../$1/"),
  (path) => path.replace("c", "%63"),
  (path) => path.toUpperCase(),
  (path) => path.replace(/[a-z]$/, "%F0%9F%92%A9"),
  (path) => path.replace(/[a-z]$/, "%FF%"),
  (path) => `${path};a=b`,
  (path) => `${path}?a[__proto__]=b&&=&timeout`,
  ...TOKENS.flatMap((token) => [
    (path: string) => `${path}/${token}`,
    (path: string) => path.replace(/\/[^/]+$/, `/${token}`),
    (path: string) => `${path}?token=${token}`,
  ]),
  ...[300, 8000, 60_000].map((length) => (path: string) => `${path}/${"x".repeat(length)}`),
];

export const pathMutation = fc
  .oneof(
    { weight: MUTATIONS.length, arbitrary: fc.constantFrom(...MUTATIONS) },
    { weight: 1, arbitrary: oddSegment.map((segment) => (path: string) => path.replace(/\/[^/]+$/, `/${segment}`)) },
  )
  .map((mutation) => (path: string) => {
    const [before = "", ...query] = path.split("?");
    const changed = mutation(before);
    return [changed.startsWith("/") ? changed : `/${changed}`, ...query].join("?");
  });
