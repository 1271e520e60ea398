/** Webhooks that say whether evictions pass unreviewed: KubeVirt's own and the guard's, as they are in an API server. */
import { afterAll, expect, test } from "vitest";
import { applyManifests, webhookConfigurations } from "../../../infra/sandbox/index.ts";
import { named } from "../../../shared/kube/client.ts";
import { areEvictionsCovered } from "../../../shared/settings/guarded.ts";
import { GUARD_WEBHOOKS, KUBEVIRT_WEBHOOKS } from "../../../shared/kube/names.ts";
import { startTestCluster } from "../../support/test-cluster.ts";
import { settings } from "../../support/fixtures.ts";
import { connectTo } from "../../support/kube/connected.ts";

const world = await startTestCluster(["optional/guard/guard.yaml"]);
afterAll(() => world.stop());
const cluster = connectTo(world.entry);

test("upstream's and ours cover evictions; there are none of another name", async () => {
  const kubevirt = webhookConfigurations({ url: "https://127.0.0.1:1", caPem: "" }, { evictionWebhook: true });
  await applyManifests(world.client, kubevirt);
  const [seen, guard, another] = await Promise.all(
    [KUBEVIRT_WEBHOOKS, GUARD_WEBHOOKS, "another"].map(async (name) => {
      return (await cluster.get("validatingwebhookconfigurations", named(name), { expect: [403] }))?.webhooks;
    }),
  );
  const gated = settings({ featureGates: ["PreemptionEvictionLiveMigration"] });
  expect(areEvictionsCovered({ kubevirt: seen, guard }, gated)).toBe(true);
  expect(another).toBeUndefined();
});
