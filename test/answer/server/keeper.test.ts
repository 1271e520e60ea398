/** The server's Secret and webhooks, in a real API server, with the permissions that the manifests grant. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import * as z from "zod/mini";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createSteppedClock, type Sandbox, secrets, type SteppedClock } from "../../../infra/sandbox/index.ts";
import { makeCertificate, validityFrom } from "../../../infra/server/certificate.ts";
import { type Identity, reconcileIdentity } from "../../../infra/server/keeper.ts";
import { HOST } from "../../../infra/server/names.ts";
import { pointWebhooks } from "../../../infra/server/webhooks.ts";
import { applyInCluster, SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import type { Client } from "../../../shared/kube/client.ts";
import { WEBHOOK_CONFIGURATIONS } from "../../live/stage.ts";
import { connectTo, FakeCluster } from "../../support/fake-cluster.ts";
import { startInstalled } from "../../support/server/installed.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;
const OPTIONAL = ["optional/guard/guard.yaml"];

let sandbox: Sandbox;
let connect: () => Client;
let clock: SteppedClock;
beforeAll(async () => {
  ({ sandbox, connect } = await startInstalled(OPTIONAL));
});
beforeEach(async () => {
  await sandbox.client.patch(secrets, SERVER, { type: "merge", body: { data: null } });
  clock = createSteppedClock();
});
afterAll(() => sandbox.stop());

const lookOnce = async (use: (identity: Identity) => void) =>
  await reconcileIdentity({ cluster: "local", connect, clock, use, onFailure: () => undefined });

const look = () => lookOnce(() => undefined);

/** A replica looks until there is nothing to do for now; resolves to what it serves. */
async function settle(): Promise<Identity> {
  const used: Identity[] = [];
  const use = (identity: Identity) => void used.push(identity);
  while ((await lookOnce(use)) === 0);
  const last = used.at(-1);
  if (last === undefined) throw new Error("nothing to serve");
  return last;
}

const Configuration = z.object({
  webhooks: z.tuple([
    z.object({
      clientConfig: z.object({
        caBundle: z._default(z.string(), ""),
        service: z.object({ path: z._default(z.string(), "") }),
      }),
    }),
  ]),
});

async function clientConfigs() {
  const names = ["lifeboat", "lifeboat-guard"];
  const found = await Promise.all(names.map((name) => sandbox.client.get(WEBHOOK_CONFIGURATIONS, { name })));
  return found.map((one) => Configuration.parse(one).webhooks[0].clientConfig);
}

/** Of the first webhook; all have the same. */
async function bundle(): Promise<readonly string[]> {
  const [one, other] = (await clientConfigs()).map(({ caBundle }) => Buffer.from(caBundle, "base64").toString());
  expect(other).toBe(one);
  return (one ?? "").split(/(?<=-----END CERTIFICATE-----\n)/);
}

const same = (pems: readonly string[]) => pems.map((pem) => new X509Certificate(pem).fingerprint256).toSorted();

test("the first start makes certificate and tokens, and points each webhook at its door", async () => {
  const { pair, webhookToken, operatorToken } = await settle();
  const certificate = new X509Certificate(pair.certPem);
  expect(certificate.checkHost(HOST)).toBe(HOST);
  expect([webhookToken, operatorToken].map((tokens) => tokens.map(({ length }) => length))).toEqual([[64], [64]]);
  expect(webhookToken).not.toEqual(operatorToken);
  expect(same(await bundle())).toEqual(same([pair.certPem]));
  expect((await clientConfigs()).map(({ service }) => service.path)).toEqual([
    `/clusters/local/admission/evictions/${webhookToken[0]}`,
    `/clusters/local/admission/deletions/${webhookToken[0]}`,
  ]);
});

test("a key that is not its certificate's is replaced with it", async () => {
  const { pair } = await settle();
  const { keyPem } = await makeCertificate(HOST, validityFrom(clock.now()));
  const data = { "tls.key": base64(keyPem) };
  await sandbox.client.patch(secrets, SERVER, { type: "merge", body: { data } });
  const { pair: made } = await settle();
  expect(made.certPem).not.toBe(pair.certPem);
  expect(new X509Certificate(made.certPem).checkPrivateKey(createPrivateKey(made.keyPem))).toBe(true);
  expect(same(await bundle())).toEqual(same([made.certPem]));
});

test("a webhook token is rotated, step by step without a gap, or at once", async () => {
  await settle();
  const made = expect.stringMatching(/^[0-9a-f]{64}$/);
  // prettier-ignore
  const steps = [
    // in the Secret  opens the doors   in the webhooks
    ["old,new",       ["old", "new"],   "old"],
    ["new, old\n",    ["new", "old"],   "new"],
    ["new",           ["new"],          "new"],
    [" ",             [made],           made],
  ] as const;
  for (const [text, accepted, pointed] of steps) {
    await sandbox.client.patch(secrets, SERVER, { type: "merge", body: { data: { webhookToken: base64(text) } } });
    expect((await settle()).webhookToken).toEqual(accepted);
    const tokens = (await clientConfigs()).map(({ service }) => service.path.split("/").at(-1));
    expect(tokens).toEqual([pointed, pointed]);
  }
});

test("renewed: announced before it is served, and the old one is trusted a while longer", async () => {
  const { pair: old } = await settle();
  clock.advance(60 * DAY);
  expect((await settle()).pair).toEqual(old);
  const announced = await bundle();
  expect(announced).toHaveLength(2);
  clock.advance(10 * MINUTE);
  const { pair: renewed, ...tokens } = await settle();
  expect(renewed).not.toEqual(old);
  expect(await bundle()).toEqual(announced);
  expect(same(announced)).toEqual(same([old.certPem, renewed.certPem]));
  clock.advance(10 * MINUTE);
  expect(await settle()).toEqual({ pair: renewed, ...tokens });
  expect(same(await bundle())).toEqual(same([renewed.certPem]));
});

test("until evictions' webhook is installed it looks every two seconds, and then every ten", async () => {
  await settle();
  expect(await look()).toBe(10_000);
  await sandbox.client.delete(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" });
  expect(await look()).toBe(2000);
  await applyInCluster(sandbox.client, OPTIONAL);
  expect(await settle().then(look)).toBe(10_000);
});

/** Another writer is faster. */
function conflict(label: string): Response | undefined {
  const status = { kind: "Status", reason: "Conflict", code: 409 };
  return label.startsWith("patch") ? Response.json(status, { status: 409 }) : undefined;
}

test("given a conflict at the guard's webhook, it is tried again first, also before evictions' webhook is installed", async () => {
  const fake = new FakeCluster();
  fake.unreadable.clear();
  const webhooks = [{ name: "deletions.lifeboat.dev", clientConfig: { service: SERVER } }];
  const metadata = { name: "lifeboat-guard", uid: "guard", resourceVersion: "1" };
  fake.api.put("validatingwebhookconfigurations", { metadata, webhooks });
  const pointing = { cluster: "local", webhookToken: "token", trusted: "PEM" };
  expect(await pointWebhooks(pointing, connectTo(fake, conflict))).toBe("Conflict");
  expect(await pointWebhooks(pointing, connectTo(fake))).toBe("Missing");
});

test("a certificate of cert-manager's is served, and neither it nor the caBundle is written", async () => {
  const { pair } = await settle();
  await sandbox.client.delete(secrets, SERVER);
  await sandbox.client.create(secrets, {
    metadata: { ...SERVER, annotations: { "cert-manager.io/certificate-name": "lifeboat-server" } },
    data: { "tls.crt": base64(pair.certPem), "tls.key": base64(pair.keyPem) },
  });
  const body = [{ op: "add", path: "/webhooks/0/clientConfig/caBundle", value: base64("of cert-manager's") }];
  await sandbox.client.patch(WEBHOOK_CONFIGURATIONS, { name: "lifeboat" }, { type: "json", body });
  clock.advance(89 * DAY);
  const { pair: served, webhookToken } = await settle();
  expect(served).toEqual(pair);
  const [evictions] = await clientConfigs();
  expect(evictions).toMatchObject({ caBundle: base64("of cert-manager's") });
  expect(evictions?.service.path).toContain(webhookToken[0]);
});

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
