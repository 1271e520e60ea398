/**
 * The webhook objects that are installed beside those that are shipped. A problem: the API server asks nothing; a remark: it asks less, or
 * otherwise. A URL holds a token: no message repeats any part of it.
 */
import { GUARD_CAUSES, isGateOn } from "./guarded.ts";
import { GUARD_WEBHOOKS, OWN_WEBHOOKS } from "../kube/names.ts";
import type { Settings } from "./settings.ts";
import type { InstalledWebhook, InstalledWebhooks } from "../kube/facts.ts";

/** `Unread`: it may not be read, or the API server did not say. */
export type Installation = InstalledWebhooks | "Absent" | "Unread";

export type WebhookEndpoint = "evictions" | "deletions";
export const WEBHOOK_ENDPOINTS = ["evictions", "deletions"] as const satisfies readonly WebhookEndpoint[];

export interface WebhookExpectation {
  readonly endpoint: WebhookEndpoint;
  /** Lifeboat's name of the cluster. */
  readonly cluster: string;
  /** Each of them opens the endpoint. Never to be logged. */
  readonly tokens: readonly string[];
  /** Lifeboat's own address, where it knows that. */
  readonly publicUrl: string | undefined;
  readonly settings: Pick<Settings, "featureGates" | "guard">;
}

export interface Findings {
  readonly problems: readonly string[];
  readonly remarks?: readonly string[];
}

export interface Comparison extends Required<Findings> {
  readonly endpoint: WebhookEndpoint;
  readonly object: string;
  readonly found: "Installed" | "Absent" | "Unread";
}

export const WEBHOOK_OBJECTS = { evictions: OWN_WEBHOOKS, deletions: GUARD_WEBHOOKS } as const;

/** As shipped: infra/kubernetes/webhook.yaml and optional/guard/guard.yaml. */
const SHIPPED = {
  evictions: [rule("CREATE", "pods/eviction")],
  deletions: [rule("DELETE", "pods")],
} as const;
const SHIPPED_FOR_BOTH = {
  failurePolicy: "Ignore",
  matchPolicy: "Equivalent",
  timeoutSeconds: 10,
  admissionReviewVersions: ["v1"],
} as const;

function rule(operation: string, resource: string) {
  const [operations, resources] = [[operation], [resource]] as const;
  return { operations, apiGroups: [""], apiVersions: ["v1"], resources, scope: "Namespaced" } as const;
}

export function compareWebhook(installed: Installation, expected: WebhookExpectation): Comparison {
  const { endpoint } = expected;
  const object = WEBHOOK_OBJECTS[endpoint];
  if (installed === "Unread") {
    return { endpoint, object, found: "Unread", problems: [], remarks: [`${object}: cannot be read: see rbac.yaml`] };
  }
  if (installed === "Absent") return { endpoint, object, found: "Absent", ...absent(expected) };
  const name = `${endpoint}.lifeboat.dev`;
  const webhook = installed.webhooks.find((one) => one.name === name);
  const { problems, remarks = [] } =
    webhook === undefined ? { problems: [`webhooks: expected one named ${name}`] } : compareOne(webhook, expected);
  const withObject = (texts: readonly string[]) => texts.map((text) => `${object}: ${text}`);
  return { endpoint, object, found: "Installed", problems: withObject(problems), remarks: withObject(remarks) };
}

/** The guard is optional. */
function absent({ endpoint, settings }: WebhookExpectation): Required<Findings> {
  const missing = `${WEBHOOK_OBJECTS[endpoint]}: there is no such object`;
  if (endpoint === "evictions") return { problems: [`${missing}: see webhook.yaml`], remarks: [] };
  const isWanted = GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
  return { problems: [], remarks: isWanted ? [`${missing}, so no deletion is refused: see optional/guard`] : [] };
}

function compareOne(webhook: InstalledWebhook, expected: WebhookExpectation): Findings {
  const address = compareAddress(webhook, expected);
  const silent = silencing(webhook, expected.endpoint).map(
    (field) => `${field}: with this the API server asks nothing`,
  );
  const shipped = Object.entries({ rules: SHIPPED[expected.endpoint], ...SHIPPED_FOR_BOTH });
  const found = new Map<string, unknown>(Object.entries(webhook));
  const differing = shipped.filter(([field, value]) => !isSame(found.get(field), value)).map(([field]) => field);
  const fields = [...differing, ...webhook.selectors];
  const different = fields.length > 0 ? [`not as shipped: ${fields.join(", ")}`] : [];
  return {
    problems: [...address.problems, ...silent],
    remarks: [...(address.remarks ?? []), ...different, ...unsent(webhook, expected)],
  };
}

/** Fields that keep the API server from asking at all. Wildcards ask more, not less. */
function silencing(webhook: InstalledWebhook, endpoint: WebhookEndpoint): readonly string[] {
  const { rules, matchConditions, admissionReviewVersions } = webhook;
  const isAsked = SHIPPED[endpoint].some(({ operations, resources }) =>
    rules.some((one) => covers(one.operations, operations[0]) && covers(one.resources, resources[0])),
  );
  const never = matchConditions.filter(({ expression }) => expression.trim() === "false");
  return [
    ...(isAsked ? [] : ["rules"]),
    ...never.map(({ name }) => `matchConditions.${name}`),
    ...(admissionReviewVersions.includes("v1") ? [] : ["admissionReviewVersions"]),
  ];
}

function covers(values: unknown, wanted: string): boolean {
  return Array.isArray(values) && values.some((one) => isLike(one, wanted));
}

/** As a rule names resources: every part may be an asterisk, and one for both parts covers resources without a second one. */
function isLike(pattern: unknown, wanted: string): boolean {
  if (pattern === "*/*") return true;
  const [parts, own] = [String(pattern).split("/"), wanted.split("/")];
  return parts.length === own.length && parts.every((part, i) => part === "*" || part === own[i]);
}

function compareAddress({ url = "", isService }: InstalledWebhook, expected: WebhookExpectation): Findings {
  // From outside of the cluster it cannot be seen where a Service leads.
  const isUnseen = isService && !(expected.publicUrl ?? "").endsWith(".svc");
  return isUnseen
    ? { problems: [], remarks: ["clientConfig.service: whether that leads to Lifeboat cannot be seen"] }
    : compareUrl(url, expected, isService ? "clientConfig.service" : "clientConfig.url");
}

function isSame(found: unknown, shipped: unknown): boolean {
  return JSON.stringify(found) === JSON.stringify(shipped);
}

const REQUESTER = "request.userInfo.username";

/** The guard's webhook names the users of `guard.requesters` and `guard.nodeTerminators`, too. */
function unsent({ matchConditions }: InstalledWebhook, { endpoint, settings: { guard } }: WebhookExpectation) {
  const naming = matchConditions.filter(({ expression }) => expression.includes(REQUESTER));
  if (endpoint !== "deletions" || naming.length === 0) return [];
  return (["requesters", "nodeTerminators"] as const).flatMap((field) => {
    const missing = guard[field].filter((user) => naming.some(({ expression }) => !expression.includes(`'${user}'`)));
    return missing.map((user) => `matchConditions: ${user} of guard.${field} is not named`);
  });
}

/** What is before `/clusters`, the cluster, the endpoint, the token. */
const PATH = /^(.*)\/clusters\/([^/]+)\/admission\/([^/]+)(?:\/([^/]+))?$/;
type AddressField = "clientConfig.url" | "clientConfig.service";

/** Undefined: it leads to no endpoint of Lifeboat's. Holds the token. */
export function partsOf(url: string) {
  const [found, base = "", cluster = "", endpoint = "", token] = PATH.exec(url) ?? [];
  if (found === undefined) return undefined;
  return { base, cluster: decoded(cluster), endpoint, token: token === undefined ? undefined : decoded(token) };
}

/** `field`: which one names the address. */
export function compareUrl(url: string, expected: WebhookExpectation, field: AddressField): Findings {
  const { base = "", cluster, endpoint, token } = partsOf(url) ?? {};
  if (endpoint !== expected.endpoint || cluster !== expected.cluster) {
    const path = `/clusters/${expected.cluster}/admission/${expected.endpoint}`;
    return { problems: [`${field}: expected a path that ends in ${path}, with or without a webhookToken after it`] };
  }
  const address = compareBase(base, expected.publicUrl, field);
  const { problems, remarks = [] } = token === undefined ? { problems: [] } : compareToken(token, expected, field);
  return { problems: [...address, ...problems], remarks };
}

function compareBase(base: string, publicUrl: string | undefined, field: AddressField): readonly string[] {
  if (publicUrl === undefined || normalizedBase(base) === normalizedBase(publicUrl)) return [];
  const wanted = field === "clientConfig.service" ? "lead to" : "begin with PUBLIC_URL,";
  return [`${field}: expected it to ${wanted} ${publicUrl}`];
}

function compareToken(token: string, { tokens }: WebhookExpectation, field: AddressField): Findings {
  const at = tokens.indexOf(token);
  if (at < 0) return { problems: [`${field}: expected a webhookToken of this cluster as the last segment`] };
  const rotating = `${field}: its webhookToken is not the first of the cluster's: a rotation has not ended`;
  return { problems: [], remarks: at === 0 ? [] : [rotating] };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Hosts have no case; 443 is what HTTPS means. */
export function normalizedBase(base: string): string {
  const [, host = base, path = ""] = /^(https:\/\/[^/]*)(.*)$/i.exec(base) ?? [];
  return `${host.toLowerCase().replace(/:443$/, "")}${path.replace(/\/+$/, "")}`;
}
