/** Lifeboat's own token of a cluster: when it ends, and whether the API server accepts it. */
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import { expiryOf } from "../shared/config/token-expiry.ts";
import { type CredentialFacts, judgeCredential } from "../shared/policy/credential.ts";
import type { Target } from "./target.ts";

export async function credentialOf({ entry }: Target, cluster: Cluster): Promise<CredentialFacts> {
  return { expiresAt: expiryOf(entry.token), rejected: !(await isAccepted(cluster)) };
}

/** An API server that does not answer has not rejected anything. */
export async function isAccepted(cluster: Cluster): Promise<boolean> {
  try {
    return await cluster.isTokenAccepted();
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return true;
  }
}

/** Where there is something to be done. */
export function logCredential(facts: CredentialFacts, { name, platform }: Target): void {
  const { ok, reason, message } = judgeCredential(facts, platform.now());
  if (reason !== "Valid") platform.log({ level: ok ? "warn" : "error", cluster: name, reason, message });
}
