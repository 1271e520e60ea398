/** Lifeboat in the cluster at the end of its certificate's life: what a review that fails then costs is a VM. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import { applyInCluster, SERVER, serverImages, untilReplicasAreReady } from "../../infra/lab/stage/in-cluster.ts";
import {
  createNode,
  createVirtualMachineInstance,
  type KubeClient,
  namespaces,
  type Sandbox,
  secrets,
} from "../../infra/sandbox/index.ts";
import { makeCertificate } from "../../infra/server/certificate.ts";
import { HOST } from "../../infra/server/names.ts";
import { areWebhooksPointed, until } from "./in-cluster-form.ts";
import { NAMESPACE } from "./stage.ts";
import { evict, launcherOf } from "./vm.ts";

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandboxAsChosen({ images: serverImages({ cluster: "sandbox" }) });
  for (const name of ["node01", "node02"]) await createNode(sandbox.client, name);
  await createVirtualMachineInstance(sandbox.client, {
    namespace: NAMESPACE,
    name: "web",
    node: "node01",
    evictionStrategy: "LiveMigrate",
  });
});
afterAll(() => sandbox.stop());

const encoded = (text: string) => Buffer.from(text).toString("base64");

/** Of the server's Secret, before there is a server. */
async function createSecret(client: KubeClient, certificate: { readonly certPem: string; readonly keyPem: string }) {
  const data = { "tls.crt": encoded(certificate.certPem), "tls.key": encoded(certificate.keyPem) };
  await client.create(namespaces, { metadata: { name: SERVER.namespace } });
  await client.create(secrets, { metadata: SERVER, data });
}

async function secretOf(client: KubeClient, key: string): Promise<string> {
  const { data = {} } = (await client.get(secrets, SERVER)) ?? {};
  return Buffer.from(data[key] ?? "", "base64").toString();
}

test("it is renewed while reviews go on: not one fails", { tags: ["nightly"], timeout: 180_000 }, async () => {
  const { client } = sandbox;
  const now = Date.now();
  const validity = { notBefore: new Date(now - 150_000), notAfter: new Date(now + 30_000) };
  const certificate = await makeCertificate(HOST, validity);
  await createSecret(client, certificate);
  await applyInCluster(client);
  await untilReplicasAreReady(client);
  await until("is asked", () => areWebhooksPointed(client));
  const launcher = await launcherOf(client, "web");
  const answers = new Set<string>();
  const isOver = async () => {
    const { code, message } = await evict(client, launcher, { deleteOptions: { dryRun: ["All"] } });
    answers.add(code === 429 ? "denied" : message);
    const keys = ["tls.crt", "next.crt", "previous.crt"];
    const [serving, next, previous] = await Promise.all(keys.map((key) => secretOf(client, key)));
    return serving !== certificate.certPem && next === "" && previous === "";
  };
  await expect.poll(isOver, { timeout: 90_000, interval: 50 }).toBe(true);
  for (let more = 0; more < 20; more += 1) await isOver();
  expect([...answers]).toEqual(["denied"]);
});
