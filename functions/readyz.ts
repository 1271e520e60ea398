/**
 * Whether the API server of a cluster accepts Lifeboat. What else may be wrong, the conditions of the LifeboatConfiguration say, and
 * `lifeboat doctor`.
 */
import type { Context } from "hono";
import { expiryOf } from "../shared/config/token-expiry.ts";
import { judgeCredential } from "../shared/policy/credential.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

/** An API server that does not answer is a ClusterError, as behind every door. */
export async function clusterReadyz(c: Context, target: Target): Promise<Response> {
  const rejected = !(await target.connect(READ_SECONDS).isTokenAccepted());
  const credential = { expiresAt: expiryOf(target.entry.token), rejected };
  const { ok, message } = judgeCredential(credential, target.platform.now());
  return c.json({ ready: ok, message }, ok ? 200 : 503);
}
