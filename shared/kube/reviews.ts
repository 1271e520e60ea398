/** Asks the API server which user a token belongs to, and what a user may do. Also reads the expiry time of a token. */
import * as z from "zod/mini";
import { type Client, named } from "./client.ts";
import type { ReviewedUser } from "./schemas/kubernetes.ts";
import type { Right } from "./right.ts";

/**
 * Returns the user of a token. Returns undefined if the token is invalid or has another audience, or if the
 * authenticator does not support audiences.
 */
export async function userOfToken(token: string, audience: string, cluster: Client): Promise<ReviewedUser | undefined> {
  const spec = { token, audiences: [audience] };
  const manifest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec };
  const { authenticated, audiences, user } = (await cluster.create("tokenreviews", manifest)).facts();
  const isFor = authenticated && audiences.includes(audience);
  return isFor && user !== undefined && user.username !== "" ? user : undefined;
}

export async function isAllowed(
  { username: user, ...rest }: ReviewedUser,
  right: Right,
  cluster: Client,
): Promise<boolean> {
  const spec = { user, ...rest, resourceAttributes: right };
  const manifest = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  return (await cluster.create("subjectaccessreviews", manifest)).facts().allowed;
}

/** Returns whether Lifeboat has a permission. Every account may ask this. */
export async function mayI(right: Right, cluster: Client): Promise<boolean> {
  const spec = { resourceAttributes: right };
  const manifest = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
  return (await cluster.create("selfsubjectaccessreviews", manifest)).facts().allowed;
}

/** Returns whether the API server accepts Lifeboat's token. Throws a ClusterError if a proxy answers 401. */
export async function isTokenAccepted(cluster: Client): Promise<boolean> {
  return (await cluster.get("version", named("version"), { as: z.unknown(), expect: [401] })) !== undefined;
}

const Expiry = z.lazy(() => z.object({ exp: z.number() }));
const OfPod = z.lazy(() => z.object({ "kubernetes.io": z.object({ pod: z.object({}) }) }));
const Audience = z.lazy(() => z.object({ aud: z.union([z.string(), z.array(z.string())]) }));

/**
 * Returns when a token expires. Returns undefined if the token never expires, is renewed by the kubelet, or is not a
 * JWT. Never throws an error.
 */
export function expiryOf(token: string): Date | undefined {
  const claims = claimsOf(token);
  const parsed = Expiry.safeParse(claims);
  if (!parsed.success || OfPod.safeParse(claims).success) return undefined;
  const expiry = new Date(parsed.data.exp * 1000);
  return Number.isNaN(expiry.getTime()) ? undefined : expiry;
}

export function isOnlyFor(audience: string, token: string): boolean {
  const { data } = Audience.safeParse(claimsOf(token));
  return data !== undefined && [data.aud].flat().every((one) => one === audience) && data.aud.length > 0;
}

function claimsOf(token: string): unknown {
  const [, payload, ...rest] = token.split(".");
  if (payload === undefined || rest.length !== 1) return undefined;
  try {
    return JSON.parse(atob(payload.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return undefined;
  }
}
