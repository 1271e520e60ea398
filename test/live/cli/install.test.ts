/** Tests `lifeboat install` on a KubeVirt cluster without Lifeboat, with a Worker that has no entry for the cluster. */
import { mutatingConfigurations } from "../../../infra/lab/stage/webhooks.ts";
import { stat } from "node:fs/promises";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { podDisruptionBudgets, type Resource } from "../../../infra/sandbox/index.ts";
import { WEBHOOK_CONFIGURATIONS } from "../stage.ts";
import { evict, launcherOf } from "../vm.ts";
import { type InstallStage, startInstallStage } from "./install-stage.ts";

const Objects = z.array(z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) }));
const Webhooks = z.object({ webhooks: z.array(z.object({ failurePolicy: z.string() })) });
const CONFIGURATIONS: Resource = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "LifeboatConfiguration",
  plural: "lifeboatconfigurations",
  namespaced: false,
};

let stage: InstallStage;
function useCluster(): void {
  beforeAll(async () => void (stage = await startInstallStage()));
  afterAll(() => stage.stop());
}

const install: InstallStage["install"] = (...said) => stage.install(...said);
const PARTS = "--with guard,migration-policy";
const Conditions = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), reason: z.string() })) }),
});

describe("given a cluster without Lifeboat", () => {
  useCluster();

  test("install leads to the first evacuated VM, and --export or a repetition changes nothing", async () => {
    const { client } = stage.sandbox;
    const exported = Objects.parse(loadAll((await install(`--export ${PARTS}`)).out.join("\n")));
    expect(await client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
    await expect(stat(stage.entryFile)).rejects.toThrow("ENOENT");
    const first = await install(PARTS);
    expect({ code: first.code, err: first.err }).toEqual({
      code: 0,
      err: expect.arrayContaining(["√ the Worker can work in this cluster", "√ the Worker has checked every VM"]),
    });
    expect(first.err.join("\n")).toMatch(
      /^‼ There is no relay, and the guard is on, but [^.]+\. Install the relay:\n +kubectl apply -k/m,
    );
    const created = first.out.filter((line) => line.endsWith(" created") && !line.startsWith("secret/"));
    const inOrder = created.map((line) => line.replace(/^(\w+)[^/]*\/(\S+).*$/, "$1/$2"));
    const last = "lifeboatconfiguration/lifeboat";
    expect(exported.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`)).toEqual([
      ...inOrder.filter((name) => name !== last),
      last,
    ]);
    expect((await stat(stage.entryFile)).mode & 0o777).toBe(0o600);
    // The Worker's full scan has found the webhooks of KubeVirt and of the guard. These review every eviction, so the
    // Worker creates no PodDisruptionBudgets. The API server has not called Lifeboat's webhook yet.
    const { status } = Conditions.parse(await client.get(CONFIGURATIONS, { name: "lifeboat" }));
    expect(status.conditions).toContainEqual({ type: "WebhookCalled", reason: "NotObserved" });
    expect((await client.list(podDisruptionBudgets)).items).toEqual([]);

    const launcher = await launcherOf(client, "web");
    expect(await evict(client, launcher)).toMatchObject({
      code: 429,
      message: expect.stringContaining("Eviction triggered evacuation"),
    });
    expect((await client.get(CONFIGURATIONS, { name: "lifeboat" })) as unknown).toMatchObject({
      spec: { featureGates: { PreemptionEvictionLiveMigration: true } },
    });

    const upgraded = await stage.call("install --yes");
    expect({ code: upgraded.code, changed: upgraded.out.filter((line) => !line.endsWith(" unchanged")) }).toEqual({
      code: 0,
      changed: [],
    });

    const second = await install(PARTS);
    expect(second.code).toBe(0);
    expect(second.out.filter((line) => !line.endsWith(" unchanged"))).toEqual([]);
  });
});

async function setAsEditor(path: string, value: unknown): Promise<void> {
  const body = [{ op: "add", path, value }];
  const query = { fieldManager: "kubectl-edit" };
  await stage.sandbox.client.patch(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" }, { type: "json", body }, { query });
}

async function installed() {
  return Webhooks.parse(await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" }));
}

describe("given an installation", () => {
  useCluster();
  beforeEach(async () => expect(await install()).toMatchObject({ code: 0 }));

  test("a part that is added later gets the address and token of the first installation", async () => {
    expect((await stage.call("install --yes --with guard")).code).toBe(0);
    const { webhookToken } = await stage.readEntry();
    const found = await stage.sandbox.client.get(mutatingConfigurations, { name: "lifeboat-guard" });
    const url = `${stage.worker.url}/clusters/prod/admission/deletions/${webhookToken}`;
    expect(found as unknown).toMatchObject({ webhooks: [{ clientConfig: { url, caBundle: expect.any(String) } }] });
    expect((await stage.call("install --yes --export")).out.join("\n")).not.toContain(webhookToken);

    expect((await install("--server https://elsewhere.example")).err.at(-1)).toMatch(
      /^error: --server: .* names another server/,
    );

    // Simulates an installation that stopped before its last steps.
    await stage.sandbox.client.delete(mutatingConfigurations, { name: "lifeboat-guard" });
    expect((await stage.call("install --yes")).out.filter((line) => line.endsWith(" created"))).toEqual([
      "mutatingwebhookconfiguration.admissionregistration.k8s.io/lifeboat-guard created",
    ]);
  });

  test("a field of another field manager is named, and overwritten only with --force-conflicts", async () => {
    await setAsEditor("/metadata/labels/team", "virtualization");
    expect((await install()).code).toBe(0);

    await setAsEditor("/webhooks/0/failurePolicy", "Fail");
    for (const command of [install(), stage.call("install --yes")]) {
      const { code, err } = await command;
      expect(code).toBe(1);
      expect(err.slice(-3)).toEqual([
        expect.stringMatching(/^error: validatingwebhookconfiguration\S+\/lifeboat has not been applied: /),
        '    "kubectl-edit" using admissionregistration.k8s.io/v1: .webhooks[name="evictions.lifeboat.dev"].failurePolicy',
        expect.stringMatching(/^--force-conflicts overwrites these fields\. To keep the other managers' values, /),
      ]);
      expect(await installed()).toEqual({ webhooks: [{ failurePolicy: "Fail" }] });
    }

    expect((await install("--force-conflicts")).out.filter((line) => !line.endsWith(" unchanged"))).toEqual([
      "validatingwebhookconfiguration.admissionregistration.k8s.io/lifeboat configured",
    ]);
    expect(await installed()).toEqual({ webhooks: [{ failurePolicy: "Ignore" }] });
    expect((await install()).code).toBe(0);
  });
});
