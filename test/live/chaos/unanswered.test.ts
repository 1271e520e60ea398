/** Tests that a chaos run counts the reviews that Lifeboat has not answered. */
import { expect, test } from "vitest";
import { unansweredIn } from "../../../infra/lab/chaos/unanswered.ts";
import { webhookConfigurations } from "../../../infra/lab/stage/webhooks.ts";
import { configMaps, startSandbox } from "../../../infra/sandbox/index.ts";

const rules = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }];

test("counts the failed reviews of Lifeboat's webhooks, but not of other webhooks", async () => {
  const sandbox = await startSandbox({});
  try {
    const { client } = sandbox;
    const webhooks = ["evictions.lifeboat.dev", "other.example.com"].map((name) => ({
      name,
      clientConfig: { url: "https://127.0.0.1:1/", caBundle: Buffer.from(sandbox.caPem).toString("base64") },
      rules,
      failurePolicy: "Ignore",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    }));
    await client.create(webhookConfigurations, { metadata: { name: "both" }, webhooks });
    expect(await unansweredIn(client)).toBe(0);
    for (const name of ["a", "b"]) await client.create(configMaps, { metadata: { name, namespace: "default" } });
    expect(await unansweredIn(client)).toBe(2);
  } finally {
    await sandbox.stop();
  }
});
