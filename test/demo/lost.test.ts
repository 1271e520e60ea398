/** A story in which Lifeboat loses VMs ends badly, and says so. */
import { expect, test } from "vitest";
import type { Cluster } from "../../infra/demo/cluster.ts";
import { preemption } from "../../infra/demo/preemption-story.ts";
import { systemClock } from "../../infra/sandbox/actors/clock.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { startSandbox, type Sandbox } from "../../infra/sandbox/sandbox.ts";
import { definitions } from "../../infra/tools/apply.ts";
import { recordingScreen } from "./screens.ts";

async function inhabited({ client, stats, url: server }: Sandbox): Promise<Cluster> {
  await preemption.setScene(client);
  return { client, stats, server, clock: systemClock, kubeconfig: "" };
}

test("in the cluster that is said to have Lifeboat there are its kinds, and nothing that acts", async () => {
  const [without, withIt] = await Promise.all([
    startSandbox({ terminationSeconds: 0 }),
    startSandbox({ terminationSeconds: 0 }),
  ]);
  const { printed, screen } = recordingScreen();
  const stop = () => Promise.all([without.stop(), withIt.stop()]).then(() => undefined);
  try {
    await applyManifests(withIt.client, definitions());
    const stage = { without: await inhabited(without), withIt: await inhabited(withIt), stop };
    expect(await preemption.tell(stage, screen)).toBe(false);
  } finally {
    await stop();
  }
  expect(printed.slice(-2)).toEqual([
    "Without Lifeboat: VMs lost 2  (shop/db, shop/web)",
    "With Lifeboat: VMs moved 0, VMs lost: 2  (shop/db, shop/web)",
  ]);
});
