/**
 * When a token ends, as it says itself.
 * Owns: reading `exp` of a JWT (RFC 7519), as Kubernetes issues them. Does not own: whether the token is valid: only the API
 * server can tell, and a token without an end may be revoked.
 */
import * as z from "zod/mini";

const Claims = z.lazy(() => z.object({ exp: z.number() }));
const OfPod = z.lazy(() => z.object({ "kubernetes.io": z.object({ pod: z.object({}) }) }));

/** Undefined: it has no end, the kubelet renews it (a pod's own), or it is no JWT. Never throws. */
export function expiryOf(token: string): Date | undefined {
  const [, payload, ...rest] = token.split(".");
  if (payload === undefined || rest.length !== 1) return undefined;
  try {
    const text = atob(payload.replaceAll("-", "+").replaceAll("_", "/"));
    const json: unknown = JSON.parse(text);
    const claims = Claims.safeParse(json);
    if (!claims.success || OfPod.safeParse(json).success) return undefined;
    const expiry = new Date(claims.data.exp * 1000);
    return Number.isNaN(expiry.getTime()) ? undefined : expiry;
  } catch {
    return undefined;
  }
}
