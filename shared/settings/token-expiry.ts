/** What a token says of itself: when it ends, and whom it is for. */
import * as z from "zod/mini";

const Expiry = z.lazy(() => z.object({ exp: z.number() }));
const OfPod = z.lazy(() => z.object({ "kubernetes.io": z.object({ pod: z.object({}) }) }));
const Audience = z.lazy(() => z.object({ aud: z.union([z.string(), z.array(z.string())]) }));

/** Undefined: it has no end, the kubelet renews it (a pod's own), or it is no JWT. Never throws. */
export function expiryOf(token: string): Date | undefined {
  const claims = claimsOf(token);
  const parsed = Expiry.safeParse(claims);
  if (!parsed.success || OfPod.safeParse(claims).success) return undefined;
  const expiry = new Date(parsed.data.exp * 1000);
  return Number.isNaN(expiry.getTime()) ? undefined : expiry;
}

/** Whether it says that it is for this audience, and for no other. */
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
