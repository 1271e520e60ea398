/** Creates tokens for users who sign in to the page, and answers TokenReviews of these tokens. */
import * as z from "zod/mini";
import type { JsonObject } from "../json.ts";

interface TokenClaims {
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly signature?: string;
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");

/**
 * Returns a token of the user jane that every fake cluster accepts for the page. `claims` changes the audience, the
 * expiry or the signature.
 */
export function tokenOf({ aud = "lifeboat", signature = "of-the-cluster", ...claims }: TokenClaims = {}): string {
  return `${part({ alg: "RS256" })}.${part({ sub: "jane", aud, ...claims })}.${signature}`;
}

const TokenReview = z.object({ spec: z.object({ token: z.string(), audiences: z.array(z.string()) }) });

export function userOf(body: unknown): JsonObject {
  const { token, audiences } = TokenReview.parse(body).spec;
  if (!token.endsWith(".of-the-cluster")) return { user: {}, error: "invalid bearer token" };
  return { authenticated: true, audiences, user: { username: "jane" } };
}
