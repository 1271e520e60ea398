/**
 * Tests `lifeboat install --export` for GitOps. The export contains no secret, and Lifeboat does not change the
 * exported objects.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { pathOf } from "../../../infra/cli/install/apply.ts";
import { Manifest, nameOf } from "../../../infra/cli/install/manifests.ts";
import { isWebhook } from "../../../infra/cli/install/plan.ts";
import { codeFrom, IMAGE, SERVER, serverImages, untilReplicasAreReady } from "../../../infra/lab/stage/in-cluster.ts";
import {
  createAuthority,
  createNode,
  createVirtualMachineInstance,
  type KubeClient,
  leases,
  namespaces,
  pods,
  secrets,
  type Resource,
  type Sandbox,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { HOST } from "../../../infra/server/names.ts";
import { lifeboat } from "../../support/cli/lifeboat.ts";

let sandbox: Sandbox;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lifeboat-"));
  sandbox = await startSandbox({ migrationSeconds: 0.3, terminationSeconds: 0.05, images: serverImages() });
  for (const name of ["node01", "node02"]) await createNode(sandbox.client, name);
  await createVirtualMachineInstance(sandbox.client, {
    namespace: "vms",
    name: "web",
    node: "node01",
    evictionStrategy: "LiveMigrate",
  });
});
afterAll(async () => {
  await sandbox.stop();
  await rm(folder, { recursive: true });
});

const call = (line: string) => lifeboat(line, { kubeconfig: sandbox.kubeconfig, isPatient: true });
const EXPORT = `install --in-cluster --image ${IMAGE} --with guard --export`;
const TOKEN = "token-of-ours-0123456789";
const base64 = (text: string) => Buffer.from(text).toString("base64");

const Webhook = z.object({
  clientConfig: z.object({ caBundle: z.string().optional(), service: z.object({ path: z.string() }) }),
});
const Pointed = z.object({
  metadata: z.object({ annotations: z.record(z.string(), z.string()).optional() }),
  webhooks: z.tuple([Webhook]),
});

function manifestsIn(lines: readonly string[]): readonly Manifest[] {
  return z.array(Manifest).parse(loadAll(lines.join("\n")));
}

const pointedIn = (manifests: readonly Manifest[]) =>
  manifests.filter(({ kind }) => kind.endsWith("WebhookConfiguration")).map((one) => Pointed.parse(one));

// prettier-ignore
test.each([
  [EXPORT,                                                    "--export prints no private key, so it makes no certificate: pass --cert-manager, or --ca-bundle FILE"],
  [`${EXPORT} --cert-manager --ca-bundle /etc/hostname`,      "--ca-bundle"],
  ["install --cert-manager --worker https://a.example",       "--cert-manager"],
])("%s is refused, and prints nothing", async (line, message) => {
  const { code, out, err } = await call(line);
  expect({ code, out, err: err.join("\n") }).toEqual({ code: 2, out: [], err: expect.stringContaining(message) });
});

const isInstalled = spawnSync("kubectl", ["version", "--client"]).status === 0;

async function kubectl(command: string, manifests: readonly string[]) {
  const file = join(folder, "kubeconfig");
  await writeFile(file, sandbox.kubeconfig);
  return await new Promise<{ readonly code: unknown; readonly said: readonly string[] }>((resolve) => {
    const env = { ...process.env, KUBECONFIG: file };
    const child = execFile("kubectl", command.split(" "), { env }, (error, out, err) =>
      resolve({ code: error?.code ?? 0, said: `${out}${err}`.trim().split("\n") }),
    );
    child.stdin?.end(manifests.join("\n"));
  });
}

test("with cert-manager, the webhooks have its annotation instead of a caBundle", async () => {
  const { code, out } = await call(`${EXPORT} --cert-manager`);
  expect(code).toBe(0);
  for (const { metadata, webhooks } of pointedIn(manifestsIn(out))) {
    expect(metadata.annotations).toEqual({ "cert-manager.io/inject-ca-from": "lifeboat-system/lifeboat-server" });
    expect(webhooks[0].clientConfig.caBundle).toBeUndefined();
  }
});

function contentOf(body: unknown): unknown {
  const { metadata, status: _, ...rest } = Manifest.parse(body);
  const { managedFields: _m, resourceVersion: _r, generation: _g, ...meta } = metadata;
  return { ...rest, metadata: meta };
}

/** Returns the objects that an apply of the manifests would change, as `kubectl diff --server-side` and Argo CD do. */
async function diffOf(manifests: readonly Manifest[], client: KubeClient): Promise<readonly string[]> {
  const changed: string[] = [];
  for (const manifest of manifests) {
    const path = pathOf(manifest);
    const query = { fieldManager: "argocd-controller", force: "true", dryRun: "All" };
    const applied = await client.raw({
      method: "PATCH",
      path,
      query,
      body: manifest,
      contentType: "application/apply-patch+yaml",
    });
    const found = await client.raw({ method: "GET", path });
    if (!isDeepStrictEqual(contentOf(applied.body), contentOf(found.body))) changed.push(nameOf(manifest));
  }
  return changed;
}

const CONFIGURATIONS: Resource = {
  apiVersion: "lifeboat.dev/v1alpha1",
  kind: "LifeboatConfiguration",
  plural: "lifeboatconfigurations",
  namespaced: false,
};

test.runIf(isInstalled)(
  "the export prints no secret, and after kubectl apply Lifeboat uses and keeps the administrator's Secret and CA",
  async () => {
    const { client } = sandbox;
    const authority = await createAuthority("ours");
    const { certPem, keyPem } = await authority.issue([HOST]);
    await writeFile(join(folder, "ca.crt"), authority.caPem);
    await client.create(namespaces, { metadata: { name: SERVER.namespace } });
    const data = {
      "tls.crt": base64(certPem),
      "tls.key": base64(keyPem),
      webhookToken: base64(TOKEN),
      operatorToken: base64("other-of-ours-0123456789"),
    };
    await client.create(secrets, { metadata: SERVER, data });

    const { code, out } = await call(`${EXPORT} --ca-bundle ${join(folder, "ca.crt")}`);
    expect(code).toBe(0);
    expect(out.join("\n")).not.toMatch(/PRIVATE KEY|of-ours|token: [^\s]/);
    const printed = manifestsIn(out);
    expect(printed.filter(({ kind }) => kind === "Secret").map((one) => one["data"])).toEqual([undefined]);
    expect(pointedIn(printed).map(({ webhooks: [{ clientConfig }] }) => clientConfig)).toMatchObject([
      { caBundle: base64(authority.caPem), service: { path: "/clusters/local/admission/deletions/webhook-token" } },
      { caBundle: base64(authority.caPem), service: { path: "/clusters/local/admission/evictions/webhook-token" } },
    ]);

    const filled = out.map((line) => line.replace("webhook-token", TOKEN));
    const manifests = manifestsIn(filled);
    const first = await kubectl("apply -f -", filled);
    expect([first.code, first.said.filter((line) => / (created|configured)$/.test(line)).length]).toEqual([
      1,
      manifests.length - 1,
    ]);
    expect((await kubectl("apply -f -", filled)).code).toBe(0);
    expect((await kubectl("apply --dry-run=server -f -", out)).code).toBe(0);
    await untilReplicasAreReady(client);
    await expect.poll(async () => (await client.get(leases, SERVER))?.spec?.holderIdentity).toBeDefined();
    await expect.poll(async () => (await call("doctor")).out.filter((line) => line.includes("×"))).toEqual([]);
    const { out: said } = await call("doctor");
    expect(said.join("\n")).toMatch(/√ a dry-run eviction of pod vms\/virt-launcher-web\S* is answered by Lifeboat/);
    expect(said).toContain("  √ Secret lifeboat-server, the paths of Lifeboat's webhooks and their caBundles match");

    // Neither the full scan of a replica nor an evacuation changes an exported object.
    for (const { metadata } of (await client.list(pods, SERVER.namespace)).items) {
      const url = `https://127.0.0.1:${sandbox.processes.portOf(metadata.uid, 8443)}/clusters/local/reconcile`;
      const headers = { authorization: `Bearer ${TOKEN}` };
      expect(await codeFrom(url, { ca: authority.caPem, headers })).toBe(200);
    }
    const WebhookCalled = expect.objectContaining({ type: "WebhookCalled", status: "True" });
    expect(await client.get(CONFIGURATIONS, { name: "lifeboat" })).toMatchObject({
      status: { conditions: expect.arrayContaining([WebhookCalled]) },
    });
    expect(await call("evacuate web -n vms --wait --yes")).toMatchObject({ code: 0 });
    expect(await diffOf(manifests, client)).toEqual([]);
    expect(await kubectl("diff -f -", filled)).toEqual({ code: 0, said: [""] });
    const [webhook] = manifests.filter(isWebhook);
    const changed = { ...webhook, metadata: { ...webhook?.metadata, labels: { "app.kubernetes.io/name": "other" } } };
    expect(await diffOf([Manifest.parse(changed)], client)).toHaveLength(1);
  },
  120_000,
);
