/**
 * Tests that an installation creates, keeps or renews Lifeboat's certificate and tokens. The caBundle always trusts
 * every certificate that a replica can serve. The tests use a real API server.
 */
import { X509Certificate } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { makeCertificate } from "../../../infra/cli/install/make-certificate.ts";
import { isWebhook } from "../../../infra/cli/install/plan.ts";
import { applyAsCommand } from "../../../infra/lab/stage/apply.ts";
import { inClusterManifests, SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import { createAuthority, secrets, type Sandbox } from "../../../infra/sandbox/index.ts";
import { trustIn } from "../../../infra/server/certificate.ts";
import { HOST } from "../../../infra/server/names.ts";
import { startInstalled } from "../../support/installed/in-cluster.ts";
import { type Installing, installIn, readState as readStateOf, OPTIONAL, WEBHOOKS } from "./identity-stage.ts";

const DAY = 86_400_000;

let sandbox: Sandbox;
beforeAll(async () => void ({ sandbox } = await startInstalled(OPTIONAL)));
afterAll(() => sandbox.stop());
beforeEach(async () => {
  for (const { resource, name } of WEBHOOKS) await sandbox.client.delete(resource, { name }).catch(() => undefined);
  await sandbox.client.delete(secrets, SERVER);
  await sandbox.client.create(secrets, { metadata: SERVER });
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
const write = (data: Readonly<Record<string, string | null>>) =>
  sandbox.client.patch(secrets, SERVER, { type: "merge", body: { data } });
const readState = () => readStateOf(sandbox);
const install = (how: Installing = {}) => installIn(sandbox, how);
const interrupt = () => Promise.reject(new Error("interrupted"));

const trusted = (caBundle = "") =>
  Buffer.from(caBundle, "base64")
    .toString()
    .match(/BEGIN CERTIFICATE/g)?.length ?? 0;

test("the first installation creates certificate and tokens without a wait, and the next one changes nothing", async () => {
  const { waits, end } = await install();
  expect(waits).toEqual([]);
  expect(new X509Certificate(end.certificate).checkHost(HOST)).toBe(HOST);
  expect(end.keys).toEqual(["operatorToken", "tls.crt", "tls.key", "webhookToken"]);
  expect(end.webhookToken).toMatch(/^[0-9a-f]{64}$/);
  const paths = ["evictions", "deletions"].map((kind) => `/clusters/local/admission/${kind}/${end.webhookToken}`);
  expect(end.paths).toEqual(paths);
  expect(end.caBundles.map((one) => [trusted(one), trustIn(one, end.certificate).trusted])).toEqual([
    [1, true],
    [1, true],
  ]);
  expect(await install()).toEqual({ waits: [], end });
});

const replaceClientConfig = (change: { readonly path: string; readonly value: string }) => async () => {
  for (const { resource, name } of WEBHOOKS) {
    const body = [{ op: "add", ...change }];
    await sandbox.client.patch(resource, { name }, { type: "json", body });
  }
};

// prettier-ignore
const CHANGED = [
  ["a changed caBundle", replaceClientConfig({ path: "/webhooks/0/clientConfig/caBundle", value: base64("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") })],
  ["a changed path",     replaceClientConfig({ path: "/webhooks/0/clientConfig/service/path", value: "/clusters/local/admission/evictions/mine" })],
  ["deleted webhooks",   async () => { for (const { resource, name } of WEBHOOKS) await sandbox.client.delete(resource, { name }); }],
] as const;

test.each(CHANGED)(
  "given %s, the next installation restores the webhooks, and certificate and tokens stay",
  async (_, change) => {
    const { end: before } = await install();
    await change();
    expect(await readState()).not.toMatchObject({ paths: before.paths, caBundles: before.caBundles });
    const { end } = await install();
    expect({ ...end, versions: [] }).toEqual({ ...before, versions: [] });
  },
);

// prettier-ignore
const RENEWED = [
  ["the certificate ends within a year",     () => new Date(Date.now() + 3300 * DAY), () => undefined],
  ["the Secret was deleted",                 () => new Date(),                         () => write({ "tls.crt": null, "tls.key": null, webhookToken: null, operatorToken: null })],
  ["the key belongs to another certificate", () => new Date(),                         () => write({ "tls.key": base64("none") })],
] as const;

test.each(RENEWED)(
  "given that %s, an installation renews the certificate, trusts both certificates meanwhile, and keeps path and token",
  async (_, later, change) => {
    const { end: before } = await install();
    await change();
    const {
      waits: [learning, serving, ...more],
      end,
    } = await install({ now: later() });
    const served = [before.certificate, end.certificate];
    expect(served[1]).not.toBe(served[0]);
    // First, the API server trusts both certificates. Then the Secret changes, and the old certificate leaves the
    // caBundle last.
    expect(learning?.certificate).not.toBe(end.certificate);
    expect(serving?.certificate).toBe(end.certificate);
    for (const { caBundles = [] } of [learning, serving].flatMap((state) => state ?? []))
      for (const caBundle of caBundles)
        expect(served.map((pem) => trustIn(caBundle, pem).trusted)).toEqual([true, true]);
    expect(more).toEqual([]);
    expect(end.caBundles.map((one) => served.map((pem) => trustIn(one, pem).trusted))).toEqual([
      [false, true],
      [false, true],
    ]);
    expect({ paths: end.paths, token: end.webhookToken }).toEqual({ paths: before.paths, token: before.webhookToken });
  },
);

test("an installation takes over path and token of release 0.3, whose server was renewing the certificate", async () => {
  const old = await makeCertificate(HOST, {
    notBefore: new Date(Date.now() - 60 * DAY),
    notAfter: new Date(Date.now() + 30 * DAY),
  });
  const next = await makeCertificate(HOST, { notBefore: new Date(), notAfter: new Date(Date.now() + 90 * DAY) });
  const data = {
    "tls.crt": old.certPem,
    "tls.key": old.keyPem,
    "next.crt": next.certPem,
    "next.key": next.keyPem,
    webhookToken: "of-0.3-0123456789",
    operatorToken: "o-0123456789abcdef",
  };
  await write(Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])));
  await applyAsCommand(sandbox.client, inClusterManifests(OPTIONAL).filter(isWebhook));
  for (const [index, { resource, name }] of WEBHOOKS.entries()) {
    const kind = ["evictions", "deletions"][index];
    const body = [
      { op: "add", path: "/webhooks/0/clientConfig/caBundle", value: base64(old.certPem + next.certPem) },
      {
        op: "add",
        path: "/webhooks/0/clientConfig/service/path",
        value: `/clusters/local/admission/${kind}/of-0.3-0123456789`,
      },
    ];
    const path = `/apis/admissionregistration.k8s.io/v1/${resource.plural}/${name}`;
    const contentType = "application/json-patch+json";
    expect(
      await sandbox.client.raw({ method: "PATCH", path, body, contentType, query: { fieldManager: "node" } }),
    ).toMatchObject({ code: 200 });
  }
  const before = await readState();
  const { waits, end } = await install();
  expect(waits.map(({ caBundles }) => caBundles.map(trusted))).toEqual([
    [3, 3],
    [3, 3],
  ]);
  expect(end).toMatchObject({
    paths: before.paths,
    webhookToken: "of-0.3-0123456789",
    keys: ["operatorToken", "tls.crt", "tls.key", "webhookToken"],
  });
  expect(end.caBundles.map((one) => [trusted(one), trustIn(one, end.certificate).trusted])).toEqual([
    [1, true],
    [1, true],
  ]);
});

test("a placeholder in the path is no token, and a token that does not fit into a path is refused", async () => {
  await applyAsCommand(
    sandbox.client,
    inClusterManifests(OPTIONAL, { webhookToken: "webhook-token" }).filter(isWebhook),
  );
  expect((await install()).end.webhookToken).toMatch(/^[0-9a-f]{64}$/);
  await write({ webhookToken: base64("of/ours?0123456789abcdef") });
  await expect(install()).rejects.toThrow('expected a webhookToken of lowercase letters, digits, "-" and "."');
});

test("two installations at the same time create one certificate", async () => {
  await Promise.all([install(), install()]);
  const { certificate, webhookToken, paths, caBundles } = await readState();
  expect(caBundles.map((one) => trustIn(one, certificate).trusted)).toEqual([true, true]);
  expect(paths.map((path) => path.split("/").at(-1))).toEqual([webhookToken, webhookToken]);
});

test("an installation finishes the renewal that an interrupted installation began", async () => {
  const now = new Date(Date.now() + 3300 * DAY);
  const { end: before } = await install();
  await expect(install({ now, meanwhile: interrupt })).rejects.toThrow("interrupted");
  expect((await readState()).caBundles.map(trusted)).toEqual([2, 2]);
  const { end } = await install({ now });
  expect(end.caBundles.map(trusted)).toEqual([1, 1]);
  expect(end.certificate).not.toBe(before.certificate);
});

test("an installation keeps a person's certificate and its authority without naming them again, and refuses a wrong authority", async () => {
  const [authority, other] = [await createAuthority("ours"), await createAuthority("another's")];
  const { certPem, keyPem } = await authority.issue([HOST]);
  await write({ "tls.crt": base64(certPem), "tls.key": base64(keyPem) });
  const start = await readState();
  await expect(install()).rejects.toThrow("pass --ca-bundle FILE with the certificate's CA");
  await expect(install({ ca: other.caPem })).rejects.toThrow("the file does not trust the certificate in Secret");
  expect(await readState()).toEqual(start);
  const misnamed = await authority.issue(["lifeboat.example.com"]);
  await write({ "tls.crt": base64(misnamed.certPem), "tls.key": base64(misnamed.keyPem) });
  await expect(install({ ca: authority.caPem })).rejects.toThrow("is not for lifeboat-server.lifeboat-system.svc");
  await write({ "tls.crt": base64(certPem), "tls.key": base64(keyPem) });
  const { waits, end } = await install({ ca: authority.caPem });
  expect(waits).toEqual([]);
  expect(end).toMatchObject({ certificate: certPem, caBundles: [base64(authority.caPem), base64(authority.caPem)] });
  expect((await install()).end).toEqual(end);
});

test("with cert-manager, an installation creates only tokens, and changes neither certificate nor caBundle", async () => {
  const { certPem, keyPem } = await (await createAuthority("cert-manager's")).issue([HOST]);
  await expect(install({ certManager: true })).rejects.toThrow(
    "cert-manager has written no certificate into Secret lifeboat-server",
  );
  await write({ "tls.crt": base64(certPem), "tls.key": base64(keyPem) });
  await install({ certManager: true });
  const body = [{ op: "add", path: "/webhooks/0/clientConfig/caBundle", value: base64("of cert-manager's") }];
  for (const { resource, name } of WEBHOOKS) await sandbox.client.patch(resource, { name }, { type: "json", body });
  await write({ webhookToken: base64("another-0123456789") });
  const { end } = await install({ certManager: true });
  expect(end).toMatchObject({
    certificate: certPem,
    caBundles: [base64("of cert-manager's"), base64("of cert-manager's")],
  });
  expect(end.paths.map((path) => path.split("/").at(-1))).toEqual(["another-0123456789", "another-0123456789"]);
  const annotations = { "cert-manager.io/inject-ca-from": "lifeboat-system/lifeboat-server" };
  for (const { resource, name } of WEBHOOKS)
    expect((await sandbox.client.get(resource, { name }))?.metadata).toMatchObject({ annotations });
});
