/**
 * Tests that `lifeboat install` renews the certificate of the in-cluster Lifeboat without a failed admission review. A
 * failed review could cost a VM.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSandboxAsChosen } from "../../infra/lab/stage/control-plane.ts";
import {
  IMAGE,
  inClusterManifests,
  SERVER,
  serverImages,
  untilReplicasAreReady,
} from "../../infra/lab/stage/in-cluster.ts";
import { applyAsCommand } from "../../infra/lab/stage/apply.ts";
import { webhookConfigurations } from "../../infra/lab/stage/webhooks.ts";
import { makeCertificate } from "../../infra/cli/install/make-certificate.ts";
import {
  createNode,
  createVirtualMachineInstance,
  type KubeClient,
  namespaces,
  type Sandbox,
  secrets,
} from "../../infra/sandbox/index.ts";
import { HOST } from "../../infra/server/names.ts";
import { lifeboat } from "../support/cli/lifeboat.ts";
import { NAMESPACE } from "./stage.ts";
import { evict, launcherOf } from "./vm.ts";

const DAY_MS = 86_400_000;

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandboxAsChosen({ images: serverImages() });
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

async function certificateIn(client: KubeClient): Promise<string> {
  const { data = {} } = (await client.get(secrets, SERVER)) ?? {};
  return Buffer.from(data["tls.crt"] ?? "", "base64").toString();
}

/** After this time, each replica has read a changed Secret. A replica reads its Secret every 10 s. */
const READ_MS = 12_000;

test("no review fails during a renewal of the certificate", { tags: ["nightly"], timeout: 180_000 }, async () => {
  const { client, kubeconfig } = sandbox;
  // The certificate is trusted and expires within 90 days, as after an installation by release 0.3.
  const validity = { notBefore: new Date(Date.now() - DAY_MS), notAfter: new Date(Date.now() + 89 * DAY_MS) };
  const { certPem, keyPem } = await makeCertificate(HOST, validity);
  const data = {
    "tls.crt": certPem,
    "tls.key": keyPem,
    webhookToken: "token-0123456789",
    operatorToken: "other-0123456789",
  };
  await client.create(namespaces, { metadata: { name: SERVER.namespace } });
  await client.create(secrets, {
    metadata: SERVER,
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encoded(text)])),
  });
  await applyAsCommand(
    client,
    inClusterManifests([], { webhookToken: "token-0123456789", caBundle: encoded(certPem) }),
  );
  await untilReplicasAreReady(client);
  const launcher = await launcherOf(client, "web");
  const answers = new Set<string>();
  const ask = async () => {
    const { code, message } = await evict(client, launcher, { deleteOptions: { dryRun: ["All"] } });
    answers.add(code === 429 ? "denied" : message);
  };
  let isServed = false;
  const meanwhile = async () => {
    await ask();
    if (isServed || (await certificateIn(client)) === certPem) return;
    isServed = true;
    for (const end = Date.now() + READ_MS; Date.now() < end;) await ask();
  };
  const call = `install --yes --in-cluster --image ${IMAGE}`;
  expect(await lifeboat(call, { kubeconfig, isPatient: true, meanwhile })).toMatchObject({ code: 0 });
  const renewed = await certificateIn(client);
  expect(renewed).not.toBe(certPem);
  const webhook = await client.get(webhookConfigurations, { name: "lifeboat" });
  const trusted = webhook?.webhooks?.map(({ clientConfig: { caBundle = "" } }) => Buffer.from(caBundle, "base64"));
  expect(String(trusted).trim()).toBe(renewed.trim());
  for (let more = 0; more < 20; more += 1) await ask();
  expect([...answers]).toEqual(["denied"]);
});
