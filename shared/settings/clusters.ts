/** The configuration of all clusters: how Lifeboat reaches each cluster, and who may call Lifeboat for it. */
import * as z from "zod/mini";
import { type ConfigProblem, type Parsed, parseConfig } from "./problem.ts";
import { SETTINGS_MESSAGES as MESSAGES } from "./messages.ts";

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Returns true if paths can be appended to the address. `URL` accepts a question mark at the end, but a path after it
 * would be part of the query.
 */
export function isBaseUrl(text: string): boolean {
  if (/[\s?#]/.test(text) || !URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && LOOPBACK.has(hostname));
}

function isServer(text: string): boolean {
  return /^binding:[A-Za-z_][A-Za-z0-9_]*$/.test(text) || isBaseUrl(text);
}

/**
 * The secret with which the relay signs its requests, as specified in
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
 */
export const RelaySecret = z.lazy(() =>
  z
    .string(MESSAGES.relaySecret)
    .check(
      z.regex(
        /^whsec_(?=[^=]{32,86}=*$)(?:[A-Za-z0-9+/]{4})+(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
        MESSAGES.relaySecret,
      ),
    ),
);

/**
 * A token contains no spaces or line breaks. Editors can add a line break at the end, which is not allowed in a header.
 */
const Token = z.lazy(() => z.string(MESSAGES.token).check(z.regex(/^[\x21-\x7e]+$/, MESSAGES.tokenWithoutSpaces)));

/** A token for Lifeboat's own endpoints. People choose these tokens, and short tokens can be guessed. */
export const EndpointToken = z.lazy(() =>
  z.string(MESSAGES.token).check(z.regex(/^[\x21-\x7e]{16,}$/, MESSAGES.longToken)),
);

const EndpointTokens = z.lazy(() =>
  z.union([EndpointToken, z.array(EndpointToken).check(z.minLength(1, MESSAGES.atLeastOne))], MESSAGES.tokens),
);

/**
 * Lifeboat sets these headers in every request. A second `authorization` header would be joined with the first one, and
 * the result would be invalid.
 */
const OWN_HEADERS = /^(authorization|accept|content-type|user-agent|impersonate-.*)$/i;
const HeaderName = z.lazy(() =>
  z.string().check(
    z.regex(/^[\w!#$%&'*+.^`|~-]+$/, MESSAGES.headerName),
    z.refine((name) => !OWN_HEADERS.test(name), MESSAGES.foreignHeader),
  ),
);
const HeaderValue = z.lazy(() => z.string(MESSAGES.text).check(z.regex(/^[\x20-\x7e]*$/, MESSAGES.oneLine)));

const Entry = z.lazy(() =>
  z.strictObject({
    server: z.string(MESSAGES.text).check(z.refine(isServer, MESSAGES.server)),
    token: Token,
    webhookToken: EndpointTokens,
    operatorToken: z.exactOptional(EndpointTokens),
    relaySecret: z.exactOptional(
      z.union([RelaySecret, z.array(RelaySecret).check(z.minLength(1, MESSAGES.atLeastOne))]),
    ),
    headers: z._default(z.record(HeaderName, HeaderValue), {}),
  }),
);

export type ClusterEntry = z.output<typeof Entry>;

function parseJson(text: string, field: string): Parsed<unknown> {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, problems: [{ field, message: MESSAGES.json }] };
  }
}

export function parseRegistryEntry(text: string, name: string): Parsed<ClusterEntry> {
  const json = parseJson(text, `CLUSTER_REGISTRY.${name}`);
  return json.ok ? parseConfig(Entry, json.value, `CLUSTER_REGISTRY.${name}`) : json;
}

export type Clusters = Parsed<ReadonlyMap<string, Parsed<ClusterEntry>>>;

/** Parses `CLUSTERS`. Each entry is parsed separately, so that an invalid entry does not affect the others. */
export function parseClusters(text: string | undefined): Clusters {
  if (text === undefined) return { ok: true, value: new Map() };
  const json = parseJson(text, "CLUSTERS");
  if (!json.ok) return json;
  const object = parseConfig(z.record(z.string(), z.unknown()), json.value, "CLUSTERS");
  if (!object.ok) return object;
  const entries = Object.entries(object.value);
  return { ok: true, value: new Map(entries.map(([name, e]) => [name, parseConfig(Entry, e, `CLUSTERS.${name}`)])) };
}

export function problemsOf(clusters: Clusters): readonly ConfigProblem[] {
  if (!clusters.ok) return clusters.problems;
  return [...clusters.value.values()].flatMap((entry) => (entry.ok ? [] : entry.problems));
}
