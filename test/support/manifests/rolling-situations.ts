/** Prepares clusters with RollingMaintenances before Lifeboat acts. */
import { expect } from "vitest";
import { rollingMaintenances } from "../../../infra/lab/stage/evacuations.ts";
import { core } from "../../../infra/sandbox/index.ts";
import { PENDING_TAINT } from "../../../shared/kube/names.ts";
import { NODE } from "../fixtures.ts";
import type { SandboxCluster } from "../installed/worker.ts";
import { ask, type Trial } from "./trial.ts";

const LONG_AGO = "2025-01-01T00:00:00Z";

export const rolling = (status?: object) => async (trial: Trial) => {
  const { client } = trial.cluster;
  const metadata = { name: "weekend", labels: { "app.kubernetes.io/managed-by": "lifeboat" } };
  await client.create(rollingMaintenances, { metadata, spec: { nodes: { names: [NODE] } } });
  const body = { status };
  if (status) await client.patch(rollingMaintenances, metadata, { type: "merge", body }, { subresource: "status" });
};

const SECOND_NODE = "node02";

export async function steering({ cluster: { client } }: Trial): Promise<void> {
  await client.create(core.nodes, { metadata: { name: SECOND_NODE } });
  const spec = { nodes: { names: [NODE, SECOND_NODE] }, steering: "AwayFromPending" };
  await client.create(rollingMaintenances, { metadata: { name: "weekend" }, spec });
}

/** Checks that Lifeboat adds its taint to the node's other taints, and removes it during a pause. */
export async function steered(trial: Trial): Promise<undefined> {
  const { client } = trial.cluster;
  const taints = async () => (await client.get(core.nodes, { name: SECOND_NODE }))?.spec?.taints ?? [];
  const before = await taints();
  await ask(trial, "POST", "/reconcile");
  expect(await taints()).toEqual([...before, PENDING_TAINT]);
  const body = { spec: { progress: "Paused" } };
  await client.patch(rollingMaintenances, { name: "weekend" }, { type: "merge", body });
  await ask(trial, "POST", "/reconcile");
  expect(await taints()).toEqual(before);
}

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
