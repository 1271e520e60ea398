/** The webhook objects that make the API server ask Lifeboat. */
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import type { Settings } from "../shared/policy/settings.ts";
import { compareWebhook, type Comparison, SHIPPED } from "../shared/policy/webhooks/compare.ts";
import { type Installation, WEBHOOK_DOORS } from "../shared/policy/webhooks/facts.ts";
import type { Target } from "./target.ts";

export async function lookAtWebhooks(
  target: Target,
  cluster: Cluster,
  settings: Settings,
): Promise<readonly Comparison[]> {
  const { name, entry, publicUrl } = target;
  const tokens = [entry.webhookToken].flat();
  return await Promise.all(
    WEBHOOK_DOORS.map(async (door) => {
      const installed = await read(cluster, SHIPPED[door].object);
      return compareWebhook(installed, { door, cluster: name, tokens, publicUrl, settings });
    }),
  );
}

/** What cannot be read is not known to be wrong. */
async function read(cluster: Cluster, object: string): Promise<Installation> {
  try {
    return await cluster.getOwnWebhooks(object);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return "Unread";
  }
}

/** What is wrong: once for each full scan. */
export function logWebhooks(webhooks: readonly Comparison[], { name, platform }: Target): void {
  for (const message of webhooks.flatMap(({ problems }) => problems)) {
    platform.log({ level: "error", cluster: name, reason: "WebhookNotCalled", message });
  }
}
