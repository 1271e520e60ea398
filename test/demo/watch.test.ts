/** Worlds read while they change: a VM that runs all the time is never taken for lost. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { guestRuns } from "../../infra/demo/summary.ts";
import { readWorld } from "../../infra/demo/watch.ts";
import type { KubeClient } from "../../infra/sandbox/actors/client.ts";
import { pods } from "../../infra/sandbox/actors/resources.ts";
import { NAMESPACE, startTestCluster, type TestCluster } from "../functions/support/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await startTestCluster();
});
afterEach(() => cluster.stop());

const phaseTo = (phase: string) => ({ type: "merge", body: { status: { phase } } }) as const;

/** On its way from node01 to node02: both of its pods run. */
async function createMigrating() {
  const source = await cluster.createVm({ name: "web", strategy: "LiveMigrate" });
  const uid = (await cluster.getVmi("web"))?.metadata.uid ?? "";
  const target = { namespace: NAMESPACE, name: "virt-launcher-web-fghij" };
  await cluster.client.create(pods, {
    metadata: { ...target, labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid } },
    spec: { nodeName: "node02", containers: [{ name: "compute", image: "virt-launcher" }] },
  });
  await cluster.client.patch(pods, target, phaseTo("Running"), { subresource: "status" });
  return source;
}

/** The cluster, in which something happens right after the first list. */
function meanwhile(happen: () => Promise<unknown>): KubeClient {
  let happened: Promise<unknown> | undefined;
  return {
    ...cluster.client,
    list: async (...asked) => {
      const listed = await cluster.client.list(...asked);
      await (happened ??= happen());
      return listed;
    },
  };
}

async function runsIn(client: KubeClient): Promise<boolean> {
  const world = await readWorld(client);
  return guestRuns([...world.vmis.values()][0], world);
}

test("a VM that moves between two lists runs", async () => {
  const source = await createMigrating();
  const client = meanwhile(async () => {
    await cluster.patchVmi("web", { status: { nodeName: "node02" } });
    await cluster.client.patch(pods, source, phaseTo("Succeeded"), { subresource: "status" });
  });
  expect(await runsIn(client)).toBe(true);
});
