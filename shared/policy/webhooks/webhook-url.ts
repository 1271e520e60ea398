/**
 * Whether a webhook's URL leads to Lifeboat's door of a cluster.
 * Owns: taking it apart, and what is wrong with it. The URL holds a token: no message repeats any part of it.
 */
import type { Findings, WebhookExpectation } from "./facts.ts";

/** What is before `/clusters`, the cluster, the door, the token. */
const PATH = /^(.*)\/clusters\/([^/]+)\/admission\/([^/]+)(?:\/([^/]+))?$/;
const FIELD = "clientConfig.url";

export function compareUrl(url: string, expected: WebhookExpectation): Findings {
  const [, base = "", cluster = "", door, token] = PATH.exec(url) ?? [];
  if (door !== expected.door || decoded(cluster) !== expected.cluster) {
    const path = `/clusters/${expected.cluster}/admission/${expected.door}`;
    return { problems: [`${FIELD}: expected a path that ends in ${path}, with or without a webhookToken after it`] };
  }
  const address = compareBase(base, expected.publicUrl);
  const { problems, remarks = [] } = token === undefined ? { problems: [] } : compareToken(decoded(token), expected);
  return { problems: [...address, ...problems], remarks };
}

function compareBase(base: string, publicUrl: string | undefined): readonly string[] {
  if (publicUrl === undefined || normalized(base) === normalized(publicUrl)) return [];
  return [`${FIELD}: expected it to begin with PUBLIC_URL, ${publicUrl}`];
}

function compareToken(token: string, { tokens }: WebhookExpectation): Findings {
  const at = tokens.indexOf(token);
  if (at < 0) return { problems: [`${FIELD}: expected a webhookToken of this cluster as the last segment`] };
  const rotating = `${FIELD}: its webhookToken is not the first of the cluster's: a rotation has not ended`;
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
function normalized(base: string): string {
  const [, host = base, path = ""] = /^(https:\/\/[^/]*)(.*)$/i.exec(base) ?? [];
  return `${host.toLowerCase().replace(/:443$/, "")}${path.replace(/\/+$/, "")}`;
}
