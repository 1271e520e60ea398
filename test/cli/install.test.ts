/** `lifeboat install` into a cluster that has KubeVirt and nothing of Lifeboat's, beside a Worker that does not know it yet. */
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { type Resource } from "../../infra/sandbox/actors/resources.ts";
import { createNode, createVirtualMachineInstance } from "../../infra/sandbox/fleet.ts";
import { manifestsIn } from "../../infra/cli/install/manifests.ts";
import { type Sandbox, startSandbox } from "../../infra/sandbox/sandbox.ts";
import { type RunningWorker, startWorker } from "../../infra/tools/worker.ts";
import { trust } from "../functions/support/test-cluster.ts";
import { WEBHOOK_CONFIGURATIONS } from "../blackbox/stage.ts";
import { evict, launcherOf } from "../blackbox/vm.ts";
import { lifeboat, type Person } from "./lifeboat.ts";

const Objects = z.array(z.looseObject({ kind: z.string(), metadata: z.looseObject({ name: z.string() }) }));
const Entry = z.object({ server: z.string(), token: z.string(), webhookToken: z.string(), operatorToken: z.string() });
const Webhooks = z.object({ webhooks: z.array(z.object({ failurePolicy: z.string() })) });
const CONFIGURATIONS: Resource = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "LifeboatConfiguration",
  plural: "lifeboatconfigurations",
  namespaced: false,
};

let sandbox: Sandbox;
let worker: RunningWorker;
let folder: string;

beforeEach(async () => {
  sandbox = await startSandbox({ migrationSeconds: 0.1, terminationSeconds: 0.05 });
  trust(sandbox);
  worker = await startWorker({ authority: sandbox.authority, clusters: {}, registry: true });
  folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  await writeFile(join(folder, "ca.pem"), sandbox.authority.caPem);
  for (const name of ["node01", "node02"]) await createNode(sandbox.client, name);
  await createVirtualMachineInstance(sandbox.client, {
    namespace: "vms",
    name: "web",
    evictionStrategy: "LiveMigrate",
  });
});
afterEach(async () => {
  await worker.stop();
  await sandbox.stop();
  await rm(folder, { recursive: true });
});

const entryFile = () => join(folder, "entry.json");
const readEntry = async () => Entry.parse(JSON.parse(await readFile(entryFile(), "utf8")));

/** Gives the Worker the entry as soon as the command waits for that. */
function install(flags = "", tweak: Partial<Person> = {}) {
  const meanwhile = async () => worker.registry.set("prod", await readEntry());
  const flagsOfAll = `--worker ${worker.url} --cluster prod --entry ${entryFile()} --ca-bundle ${join(folder, "ca.pem")}`;
  return lifeboat(`install ${flagsOfAll} ${flags}`, { kubeconfig: sandbox.kubeconfig, meanwhile, ...tweak });
}

test("from nothing to the first evacuated VM; a second time changes nothing", async () => {
  const first = await install("--with guard,migration-policy");
  expect({ code: first.code, err: first.err }).toEqual({
    code: 0,
    err: expect.arrayContaining(["√ the Worker can work in this cluster", "√ the Worker has looked at every VM"]),
  });
  expect(first.out).toContain("customresourcedefinition.apiextensions.k8s.io/evacuations.lifeboat.dev created");
  expect(first.out.at(-1)).toBe("validatingwebhookconfiguration.admissionregistration.k8s.io/lifeboat created");
  expect((await stat(entryFile())).mode & 0o777).toBe(0o600);

  const launcher = await launcherOf(sandbox.client, "web");
  expect(await evict(sandbox.client, launcher)).toMatchObject({
    code: 429,
    message: expect.stringContaining("Eviction triggered evacuation"),
  });
  expect((await sandbox.client.get(CONFIGURATIONS, { name: "lifeboat" })) as unknown).toMatchObject({
    spec: { featureGates: { PreemptionEvictionLiveMigration: true } },
  });

  const upgraded = await lifeboat("upgrade", { kubeconfig: sandbox.kubeconfig });
  expect({ code: upgraded.code, changed: upgraded.out.filter((line) => !line.endsWith(" unchanged")) }).toEqual({
    code: 0,
    changed: [],
  });

  const second = await install("--with guard,migration-policy");
  expect(second.code).toBe(0);
  expect(second.out.filter((line) => !line.endsWith(" unchanged"))).toEqual([]);
});

async function setAsEditor(path: string, value: unknown): Promise<void> {
  const body = [{ op: "add", path, value }];
  const query = { fieldManager: "kubectl-edit" };
  await sandbox.client.patch(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" }, { type: "json", body }, { query });
}

async function installed() {
  return Webhooks.parse(await sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" }));
}

test("a field that another manager has set: named, and overwritten only if so asked", async () => {
  expect((await install()).code).toBe(0);
  await setAsEditor("/metadata/labels/team", "virtualization");
  expect((await install()).code).toBe(0);

  await setAsEditor("/webhooks/0/failurePolicy", "Fail");
  for (const command of [install(), install("--dry-run"), lifeboat("upgrade", { kubeconfig: sandbox.kubeconfig })]) {
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

test("a part that is added later leaves the gates of the others on", async () => {
  await install("--with guard");
  expect((await install("--with descheduler-support")).code).toBe(0);
  expect((await sandbox.client.get(CONFIGURATIONS, { name: "lifeboat" })) as unknown).toMatchObject({
    spec: { featureGates: { PreemptionEvictionLiveMigration: true, DeschedulerSupport: true } },
  });
});

test("a cluster that Lifeboat in the cluster has worked for: its webhook leads to the Worker, with nothing of the Service left", async () => {
  const [shipped] = manifestsIn("kubernetes/webhook.yaml");
  const webhook = z.looseObject({ webhooks: z.array(z.looseObject({})) }).parse(shipped);
  const service = {
    namespace: "lifeboat-system",
    name: "lifeboat-server",
    path: "/clusters/local/admission/evictions/old",
  };
  const clientConfig = { service, caBundle: Buffer.from(sandbox.authority.caPem).toString("base64") };
  const body = { ...webhook, webhooks: webhook.webhooks.map((one) => ({ ...one, clientConfig })) };
  const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  expect((await sandbox.client.raw({ method: "POST", path, body })).code).toBe(201);

  expect((await install()).code).toBe(0);
  const found = await sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" });
  expect(found as unknown).toMatchObject({
    webhooks: [{ clientConfig: { url: expect.stringContaining(worker.url) } }],
  });
  expect(JSON.stringify(found)).not.toContain(service.name);
});

test("--dry-run and --export change nothing; --export is what is applied, in the same order", async () => {
  const dry = await install("--dry-run");
  expect(dry.out.every((line) => line.endsWith(" created (dry run)"))).toBe(true);
  const exported = Objects.parse(loadAll((await install("--export")).out.join("\n")));
  expect(exported.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`)).toEqual(
    dry.out.map((line) => line.replace(/^(\w+)[^/]*\/(\S+).*$/, "$1/$2")),
  );
  expect(await sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
  await expect(stat(entryFile())).rejects.toThrow("ENOENT");
});

test("upgrade of nothing", async () => {
  const { code, err } = await lifeboat("upgrade", { kubeconfig: sandbox.kubeconfig });
  expect({ code, err }).toEqual({
    code: 1,
    err: [expect.stringContaining("Lifeboat is not installed in this cluster")],
  });
});

test("the Worker is never told: what to do, then exit code 1, and no webhook", async () => {
  const { code, err } = await install("--timeout 1m", { meanwhile: () => undefined });
  expect(code).toBe(1);
  expect(err.join("\n")).toMatch(/Give it .*entry\.json .*\n +npm run cluster -- add prod --entry/);
  expect(err.join("\n")).toContain(
    "error: the Worker is not ready: it does not know this cluster, or this entry of it",
  );
  expect(await sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" })).toBeUndefined();
});

// prettier-ignore
test.each([
  ["install",                                            "expected either --in-cluster or --worker URL"],
  ["install --in-cluster --worker https://a.example",    "expected either --in-cluster or --worker URL"],
  ["install --in-cluster",                               "--image: expected the image of infra/server"],
  ["install --worker http://lifeboat.example.com",       "--worker: expected an https:// address"],
  ["install --worker https://a.example --with guards",   '--with: there is no part "guards"; there are guard, '],
  ["install --worker https://a.example --cluster ../x",  '--cluster: expected letters, digits, ".", "_" and "-", got "../x"'],
  ["install --worker https://a.example --timeout later", "--timeout: expected a time"],
])("%s: exit code 2, %s", async (line, message) => {
  const { code, err } = await lifeboat(line, { kubeconfig: sandbox.kubeconfig });
  expect({ code, message: err[0] }).toEqual({ code: 2, message: expect.stringContaining(message) });
});
