/** Lists the only answers that each endpoint may give. */
import * as z from "zod/mini";

const Review = z.strictObject({
  apiVersion: z.literal("admission.k8s.io/v1"),
  kind: z.literal("AdmissionReview"),
  response: z.union([
    z.strictObject({ uid: z.string(), allowed: z.literal(true), warnings: z.optional(z.array(z.string())) }),
    z.strictObject({
      uid: z.string(),
      allowed: z.literal(false),
      status: z.strictObject({
        code: z.literal(429),
        reason: z.literal("TooManyRequests"),
        message: z.string().check(z.minLength(1)),
        details: z.optional(z.strictObject({ retryAfterSeconds: z.int().check(z.gte(1), z.lte(15)) })),
      }),
      warnings: z.optional(z.array(z.string())),
    }),
  ]),
});

export const Failure = z.strictObject({
  error: z.strictObject({
    reason: z.string().check(z.regex(/^[A-Z][A-Za-z]+$/)),
    field: z.optional(z.string()),
    message: z.string().check(z.minLength(1)),
  }),
});

const Reconciled = z.strictObject({ done: z.record(z.string(), z.int()), failures: z.int() });
const PartlyReconciled = z.extend(Reconciled, { left: z.int().check(z.positive()), requeueAfterSeconds: z.number() });
const Nominated = z.array(
  z.looseObject({ pod: z.string(), node: z.string(), profile: z.string(), plugin: z.string() }),
);
const Descheduled = z.strictObject({
  dryRun: z.boolean(),
  ended: z.enum(["Finished", "AnotherCycle", "ClusterUnavailable", "OutOfTime"]),
  nodes: z.int(),
  pods: z.int(),
  evacuationsInProgress: z.int(),
  nominated: z.int(),
  results: z.record(z.string(), z.int()),
  requested: Nominated,
  skipped: Nominated,
  withdrawn: z.array(z.string()),
});
const Readiness = z.strictObject({ ready: z.boolean(), message: z.string() });
const OpenMetrics = z.string().check(z.regex(/^# (?:TYPE|HELP|UNIT) .*\n# EOF\n$/s));
const NoSuchPage = z.string().check(z.startsWith("<!doctype html>"));
const Empty = z.literal("");

/**
 * The schema of the response body for each HTTP status code that the endpoint may return. The endpoint must not return
 * any other code.
 */
type Answers = Readonly<Record<number, z.ZodMiniType>>;

/**
 * How a caller authenticates to the endpoint. `WebhookOrPath` means that the webhook's token is a bearer token or part
 * of the path. `None` means that the endpoint is public, because it reads nothing from a cluster.
 */
export type Key = "WebhookOrPath" | "Webhook" | "Signature" | "Operator" | "Session" | "None";

export interface EndpointContract {
  readonly method: string;
  readonly path: RegExp;
  readonly key: Key;
  readonly answers: Answers;
  /** When the endpoint may change the cluster. Events are ignored. */
  readonly writes: "Never" | "UnlessDryRun";
  /** The largest accepted body, in bytes. */
  readonly largest: number;
}

const KIB = 1024;
const CALLERS_FAULT = { 400: Failure, 401: Failure, 404: Failure, 413: Failure };
const NO_CLUSTER = { 401: Failure, 404: Failure, 502: Failure, 503: Failure, 504: Failure };
const REVIEWED = { 200: Review, ...CALLERS_FAULT, 503: Failure };
/** If Lifeboat cannot read the facts, the review of a deletion fails. A policy in the API server then decides. */
const REVIEWED_OR_FAILED = { ...REVIEWED, 502: Failure, 504: Failure };
const C = "\\/clusters\\/[^/]+";
const F = "\\/fleet\\/[^/]+";

function endpoint(
  method: string,
  path: string,
  answers: Answers,
  more: Partial<EndpointContract> = {},
): EndpointContract {
  const defaults = { key: "None", writes: "Never", largest: 16 * KIB } as const;
  return { method, path: new RegExp(`^${path}$`, "s"), answers, ...defaults, ...more };
}

function page(method: "GET" | "POST", path: string): EndpointContract {
  const codes = [200, 303, 401, 403, 404, 502, 503, 504, ...(method === "POST" ? [400, 409, 413, 415] : [])];
  const answers = Object.fromEntries(codes.map((code) => [code, z.unknown()]));
  return endpoint(method, path, answers, { key: "Session", largest: 1024 * KIB });
}

// prettier-ignore
export const CONTRACT = {
  evictions:     endpoint("POST", `${C}\\/admission\\/evictions(?:\\/[^/]+)?`, REVIEWED,                                                { key: "WebhookOrPath", writes: "UnlessDryRun" }),
  deletions:     endpoint("POST", `${C}\\/admission\\/deletions(?:\\/[^/]+)?`, REVIEWED_OR_FAILED,                                      { key: "WebhookOrPath", writes: "UnlessDryRun" }),
  events:        endpoint("POST", `${C}\\/events`,      { 204: Empty, ...CALLERS_FAULT, 415: Failure, ...NO_CLUSTER },                  { key: "Signature", writes: "UnlessDryRun" }),
  reconcile:     endpoint("POST", `${C}\\/reconcile`,   { 200: Reconciled, 202: PartlyReconciled, ...NO_CLUSTER },                      { key: "Webhook", writes: "UnlessDryRun" }),
  deschedule:    endpoint("POST", `${C}\\/deschedule`,  { 200: Descheduled, 400: Failure, ...NO_CLUSTER },                              { key: "Webhook", writes: "UnlessDryRun", largest: 1024 * KIB }),
  clusterReadyz: endpoint("GET",  `${C}\\/readyz`,      { 200: Readiness, ...NO_CLUSTER, 503: z.union([Readiness, Failure]) },          { key: "Operator" }),
  metrics:       endpoint("GET",  `${C}\\/metrics`,     { 200: OpenMetrics, ...NO_CLUSTER },                                            { key: "Operator", largest: 1024 * KIB }),
  healthz:       endpoint("GET",  "\\/healthz",         { 200: z.strictObject({ healthy: z.literal(true) }) }),
  readyz:        endpoint("GET",  "\\/readyz",          { 200: z.strictObject({ ready: z.literal(true) }), 503: Failure }),
  clusterPage:   page("GET",  F),
  nodePage:      page("GET",  `${F}\\/nodes\\/[^/]+`),
  maintenancePage: page("GET", `${F}\\/nodeevacuations\\/[^/]+`),
  vmPage:        page("GET",  `${F}\\/vms\\/[^/]+\\/[^/]+`),
  signIn:        page("POST", "\\/signin"),
  otherPage:     page("GET",  "\\/(?:|signin|fleet\\/.*|assets\\/.*)"),
  otherForm:     page("POST", "\\/(?:signout|fleet\\/.*)"),
  noRoute:       endpoint("",     ".*",                 { 404: z.union([Failure, NoSuchPage]) }),
} as const satisfies Record<string, EndpointContract>;

export type EndpointName = keyof typeof CONTRACT;

function isEndpointName(name: string): name is EndpointName {
  return Object.hasOwn(CONTRACT, name);
}

/** Returns the endpoint of a request. HEAD requests use the endpoint of GET. */
export function endpointOf(method: string, path: string): EndpointName {
  const asked = method === "HEAD" ? "GET" : method;
  const found = Object.entries(CONTRACT).find(
    ([, endpoint]) => endpoint.method === asked && endpoint.path.test(path),
  )?.[0];
  return found !== undefined && isEndpointName(found) ? found : "noRoute";
}
