/** RollingMaintenances in a cluster, for what Lifeboat does with them. */
import { rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { NODE } from "../fixtures.ts";
import type { SandboxCluster } from "../installed/worker.ts";
import type { Trial } from "./trial.ts";

const LONG_AGO = "2025-01-01T00:00:00Z";

/** Several nodes are to be empty. With a status: as Lifeboat wrote it. */
export const rolling = (status?: object) => async (trial: Trial) => {
  const { client } = trial.cluster;
  const metadata = { name: "weekend", labels: { "app.kubernetes.io/managed-by": "lifeboat" } };
  await client.create(rollingMaintenances, { metadata, spec: { nodes: { names: [NODE] } } });
  const body = { status };
  if (status) await client.patch(rollingMaintenances, metadata, { type: "merge", body }, { subresource: "status" });
};

export const rolledBefore = rolling({ phase: "Completed", completionTime: LONG_AGO });

export async function tidyRolling({ client }: SandboxCluster): Promise<void> {
  for (const { metadata } of (await client.list(rollingMaintenances)).items) {
    const ended = { status: { phase: "Withdrawn" } };
    await client
      .patch(rollingMaintenances, metadata, { type: "merge", body: ended }, { subresource: "status" })
      .catch(() => undefined);
    await client.delete(rollingMaintenances, metadata);
  }
}
