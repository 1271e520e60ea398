/** Whether a webhook's URL leads to Lifeboat's endpoint of a cluster. The URL holds a token: no message repeats any part of it. */
import type { Findings, WebhookExpectation } from "./webhooks.ts";

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
