/** `lifeboat install` into a cluster that has KubeVirt and nothing of Lifeboat's, beside a Worker that does not know it yet. */
import { stat } from "node:fs/promises";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import {
  applyManifests,
  configMaps,
  kubeVirts,
  namespaces,
  podDisruptionBudgets,
  type Resource,
  secrets,
} from "../../../infra/sandbox/index.ts";
import { manifestsIn, nameOf } from "../../../infra/cli/install/manifests.ts";
import { WEBHOOK_CONFIGURATIONS } from "../stage.ts";
import { evict, launcherOf } from "../vm.ts";
import { type InstallStage, startInstallStage, untilFilled } from "./install-stage.ts";

const Objects = z.array(z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) }));
const Webhooks = z.object({ webhooks: z.array(z.object({ failurePolicy: z.string() })) });
const CONFIGURATIONS: Resource = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "LifeboatConfiguration",
  plural: "lifeboatconfigurations",
  namespaced: false,
};

let stage: InstallStage;
/** One cluster for the tests of a group. */
function useCluster(): void {
  beforeAll(async () => void (stage = await startInstallStage()));
  afterAll(() => stage.stop());
}

const install: InstallStage["install"] = (...said) => stage.install(...said);
const PARTS = "--with guard,migration-policy";
const Conditions = z.object({
  status: z.object({ conditions: z.array(z.object({ type: z.string(), reason: z.string() })) }),
});

describe("given nothing of Lifeboat's", () => {
  useCluster();

  test("from nothing to the first evacuated VM, in the order of --export, which changes nothing; nor does a second time", async () => {
    const { client } = stage.sandbox;
    const counters = { namespace: "lifeboat-system", name: "lifeboat-counters" };
    await client.create(namespaces, { metadata: { name: counters.namespace } });
    const settings = { namespace: counters.namespace, name: "lifeboat" };
    for (const metadata of [counters, settings]) await client.create(configMaps, { metadata });
    const exported = Objects.parse(loadAll((await install(`--export ${PARTS}`)).out.join("\n")));
    expect(await client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
    await expect(stat(stage.entryFile)).rejects.toThrow("ENOENT");
    const first = await install(PARTS);
    expect(await client.get(configMaps, counters)).toBeUndefined();
    expect(first.err.join("\n")).toContain("kubectl -n lifeboat-system delete configmap lifeboat");
    expect({ code: first.code, err: first.err }).toEqual({
      code: 0,
      err: expect.arrayContaining(["√ the Worker can work in this cluster", "√ the Worker has looked at every VM"]),
    });
    const created = first.out.filter((line) => line.endsWith(" created") && !line.startsWith("secret/"));
    const isThere = ({ metadata }: { readonly metadata: { readonly name: string } }) =>
      metadata.name !== counters.namespace;
    expect(exported.filter(isThere).map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`)).toEqual(
      created.map((line) => line.replace(/^(\w+)[^/]*\/(\S+).*$/, "$1/$2")),
    );
    expect((await stat(stage.entryFile)).mode & 0o777).toBe(0o600);
    // Its full scan has seen the webhooks: they are not missing, and make budgets unnecessary.
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

    const upgraded = await stage.call("install");
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

  test("when a part is added, its webhook leads where the other one does, with the token that is there", async () => {
    expect((await stage.call("install --with guard")).code).toBe(0);
    const { webhookToken } = await stage.readEntry();
    const found = await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat-guard" });
    const url = `${stage.worker.url}/clusters/prod/admission/deletions/${webhookToken}`;
    expect(found as unknown).toMatchObject({ webhooks: [{ clientConfig: { url, caBundle: expect.any(String) } }] });
    expect((await stage.call("install --export")).out.join("\n")).not.toContain(webhookToken);

    expect((await install("--server https://elsewhere.example")).err.at(-1)).toMatch(
      /^error: --server: .* has another one/,
    );

    // As if the installation had been interrupted before its last steps.
    await stage.sandbox.client.delete(WEBHOOK_CONFIGURATIONS, { name: "lifeboat-guard" });
    expect((await stage.call("install")).out.filter((line) => line.endsWith(" created"))).toEqual([
      "validatingwebhookconfiguration.admissionregistration.k8s.io/lifeboat-guard created",
    ]);
  });

  test("a field that another manager has set: named, and overwritten only if so asked", async () => {
    await setAsEditor("/metadata/labels/team", "virtualization");
    expect((await install()).code).toBe(0);

    await setAsEditor("/webhooks/0/failurePolicy", "Fail");
    for (const command of [install(), stage.call("install")]) {
      const { code, err } = await command;
      expect(code).toBe(1);
      expect(err.slice(-3)).toEqual([
        expect.stringMatching(/^error: validatingwebhookconfiguration\S+\/lifeboat has not been applied: /),
        '    "kubectl-edit" using admissionregistration.k8s.io/v1: .webhooks[name="evictions.lifeboat.dev"].failurePolicy',
        expect.stringMatching(/^--force-conflicts overwrites them\. To keep them, /),
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

describe("given what keeps it from being installed", () => {
  useCluster();

  // prettier-ignore
  const MISTAKES = [
  ["install",                                            "expected either --in-cluster or --worker URL: Lifeboat is not installed"],
  ["install --in-cluster",                               "--image: expected the image of the server"],
  ["install --worker https://a.example --cluster ../x",  '--cluster: expected letters, digits, ".", "_" and "-", got "../x"'],
] as const;

  test("what is missing or no name is said: exit code 2", async () => {
    for (const [line, message] of MISTAKES) {
      const { code, err } = await stage.call(line);
      expect({ code, message: err[0] }).toEqual({ code: 2, message: expect.stringContaining(message) });
    }
  });

  test("an entry that cannot be written: exit code 1, and the token that was made for it is gone", async () => {
    const { code, err } = await install("--entry /nowhere/entry.json", { meanwhile: () => untilFilled(stage.sandbox) });
    expect({ code, said: err.at(-1) }).toEqual({
      code: 1,
      said: expect.stringContaining("/nowhere/entry.json cannot be written: ENOENT"),
    });
    expect((await stage.sandbox.client.list(secrets)).items).toEqual([]);
  });

  test("the Worker is never told: what to do, then exit code 1, and no webhook", async () => {
    const { code, err } = await install("--timeout 1m", { meanwhile: () => undefined });
    expect(code).toBe(1);
    expect(err.join("\n")).toMatch(/Give it .*entry\.json .*\n +npm run cluster -- add prod --entry/);
    expect(err.join("\n")).toContain(
      "error: the Worker is not ready: it does not know this cluster, or this entry of it",
    );
    expect(await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
  });

  test("the shield without KubeVirt's gate: the command that switches it on, and nothing is applied; with the gate it is", async () => {
    const { code, out, err } = await install("--with guard,shield");
    expect({ code, out }).toEqual({ code: 1, out: [] });
    expect(err.join("\n")).toContain("--with shield needs KubeVirt's feature gate Plugins, which is off");
    const [, namespace = "", name = "", body = ""] =
      /kubectl -n (\S+) patch kubevirt (\S+) --type merge -p '(.*)'/.exec(err.join("\n")) ?? [];
    await stage.sandbox.client.patch(
      kubeVirts,
      { namespace, name },
      { type: "merge", body: z.looseObject({}).parse(JSON.parse(body)) },
    );
    const again = await install("--with guard,shield");
    expect([again.code, again.out]).toEqual([
      0,
      expect.arrayContaining(["plugin.plugin.kubevirt.io/lifeboat-shield created"]),
    ]);
  });
});

describe("given Lifeboat in the cluster", () => {
  useCluster();

  test("its webhook leads to the Worker, with nothing of the Service left, and nothing runs there any more", async () => {
    const [shipped] = manifestsIn("kubernetes/webhook.yaml");
    const webhook = z.looseObject({ webhooks: z.array(z.looseObject({})) }).parse(shipped);
    const service = {
      namespace: "lifeboat-system",
      name: "lifeboat-server",
      path: "/clusters/local/admission/evictions/old",
    };
    const clientConfig = { service, caBundle: Buffer.from(stage.sandbox.authority.caPem).toString("base64") };
    const body = { ...webhook, webhooks: webhook.webhooks.map((one) => ({ ...one, clientConfig })) };
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    expect((await stage.sandbox.client.raw({ method: "POST", path, body })).code).toBe(201);

    const server = ["deployment", "service", "lease"].flatMap((name) => {
      return manifestsIn(`server/kubernetes/component/${name}.yaml`);
    });
    await applyManifests(stage.sandbox.client, [...manifestsIn("kubernetes/namespace.yaml"), ...server]);

    const { code, out } = await install();
    expect(code).toBe(0);
    const removed = server.map((one) => `${nameOf(one)} deleted`);
    expect(out.filter((line) => line.endsWith(" deleted")).toSorted()).toEqual(removed.toSorted());
    const found = await stage.sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" });
    expect(found as unknown).toMatchObject({
      webhooks: [{ clientConfig: { url: expect.stringContaining(stage.worker.url) } }],
    });
    expect(JSON.stringify(found)).not.toContain(service.name);
  });
});
