/** `lifeboat install` into a cluster that is too old for it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { kubeVirts } from "../../../infra/sandbox/index.ts";
import { startTestCluster, type TestCluster } from "../../support/test-cluster.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let cluster: TestCluster;
beforeAll(async () => void (cluster = await startTestCluster()));
afterAll(() => cluster.stop());

test("an old KubeVirt is named before anything is applied: 1", async () => {
  const [kubevirt] = (await cluster.client.list(kubeVirts)).items;
  const body = { status: { observedKubeVirtVersion: "v1.6.2" } };
  await cluster.client.patch(
    kubeVirts,
    kubevirt?.metadata ?? { name: "" },
    { type: "merge", body },
    { subresource: "status" },
  );
  const { code, out, err } = await lifeboat("install --in-cluster --image a/b:c", { kubeconfig: cluster.kubeconfig });
  expect({ code, out, err }).toEqual({
    code: 1,
    out: [],
    err: ["error: KubeVirt 1.6 is older than 1.7, the oldest supported"],
  });
});
