/** Asking the API server whose token one is, what that user may do, and what Lifeboat may. */
import * as z from "zod/mini";
import { type Client, named } from "./client.ts";
import type { ReviewedUser } from "./schemas/kubernetes.ts";

/** Without name and namespace: in the whole cluster. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** Undefined: of no user, or not for this audience. An authenticator that knows no audiences names none. */
export async function userOf(token: string, audience: string, cluster: Client): Promise<ReviewedUser | undefined> {
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

/** Every account may ask this. */
export async function mayI(right: Right, cluster: Client): Promise<boolean> {
  const spec = { resourceAttributes: right };
  const manifest = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec };
  return (await cluster.create("selfsubjectaccessreviews", manifest)).facts().allowed;
}

/** Every account may ask this. A proxy's 401 is none of the API server's: it throws. */
export async function isTokenAccepted(cluster: Client): Promise<boolean> {
  return (await cluster.get("version", named("version"), { as: z.unknown(), expect: [401] })) !== undefined;
}
