/**
 * Tests the server and its Secret with a real API server and the shipped permissions. The server can read the Secret,
 * but cannot change the Secret or a webhook.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod/mini";
import { makeCertificate, validityFrom } from "../../../infra/cli/install/make-certificate.ts";
import {
  configMaps,
  createSteppedClock,
  type KubeClient,
  namespaces,
  type Sandbox,
  secrets,
} from "../../../infra/sandbox/index.ts";
import { keep } from "../../../infra/server/keeper.ts";
import { HOST } from "../../../infra/server/names.ts";
import type { Identity } from "../../../infra/server/secret.ts";
import { applyInCluster, SERVER } from "../../../infra/lab/stage/in-cluster.ts";
import type { Client } from "../../../shared/kube/client.ts";
import { startInstalled } from "../../support/installed/in-cluster.ts";

const OPTIONAL = ["optional/guard/guard.yaml"];

let sandbox: Sandbox;
let connect: () => Client;
let server: KubeClient;
beforeAll(async () => {
  ({ sandbox, connect, server } = await startInstalled(OPTIONAL));
});
beforeEach(() => applyInCluster(sandbox.client, OPTIONAL));
afterAll(() => sandbox.stop());

const write = (data: Readonly<Record<string, string | null>>) =>
  sandbox.client.patch(secrets, SERVER, { type: "merge", body: { data } });
const base64 = (of: string) => Buffer.from(of).toString("base64");

function startKeeping() {
  const clock = createSteppedClock();
  const ending = new AbortController();
  const used: Identity[] = [];
  const said: string[] = [];
  const use = (identity: Identity) => void used.push(identity);
  const onFailure = (error: unknown) => void said.push(error instanceof Error ? error.message : String(error));
  const kept = keep({ connect, clock, use, onFailure }, ending.signal);
  return {
    used,
    said,
    pass: (seconds: number) => clock.advance(seconds * 1000),
    async stop() {
      ending.abort();
      await kept;
    },
  };
}

// prettier-ignore
const LACKS = [
  ["no values",                        { "tls.crt": null, "tls.key": null, webhookToken: null, operatorToken: null }, "has no tls.crt for lifeboat-server.lifeboat-system.svc with a matching tls.key, no webhookToken of at least 16 characters, no operatorToken of at least 16 characters: run lifeboat install, which creates what is missing"],
  ["an empty token",                   { webhookToken: base64(" \n") },                                              "has no webhookToken of at least 16 characters: run lifeboat install, which creates what is missing"],
  ["the key of another certificate",   { "tls.key": "OTHER" },                                                       "has no tls.crt for lifeboat-server.lifeboat-system.svc with a matching tls.key: run lifeboat install, which creates what is missing"],
] as const;

test.each(LACKS)(
  "given a Secret with %s, a replica reports the fault, and keeps its last settings",
  async (_, data, message) => {
    const replica = startKeeping();
    await expect.poll(() => replica.used).toHaveLength(1);
    const other = await makeCertificate(HOST, validityFrom(new Date()));
    const written = Object.entries(data).map(([key, value]) => [key, value === "OTHER" ? base64(other.keyPem) : value]);
    await write(Object.fromEntries(written));
    replica.pass(10);
    await expect.poll(() => replica.said).toEqual([expect.stringContaining(message)]);
    await applyInCluster(sandbox.client, OPTIONAL);
    replica.pass(2);
    await expect.poll(() => replica.used).toHaveLength(2);
    await replica.stop();
  },
);

const LONG = "-0123456789abcdef";

test("several tokens are accepted during a rotation", async () => {
  await write({ webhookToken: base64(`new${LONG}, old${LONG}\n`) });
  const replica = startKeeping();
  await expect.poll(() => replica.used).toMatchObject([{ webhookToken: [`new${LONG}`, `old${LONG}`] }]);
  await replica.stop();
});

const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const SECRET = `/api/v1/namespaces/${SERVER.namespace}/secrets`;
const MERGE = "application/merge-patch+json";
const OBJECTS = [
  `${WEBHOOKS}/lifeboat`,
  `${WEBHOOKS}/lifeboat-guard`,
  `${MUTATING}/lifeboat-guard`,
  `${SECRET}/lifeboat-server`,
];

test.each(OBJECTS)("the server's token cannot write %s", async (path) => {
  const metadata = { labels: { taken: "over" } };
  const found = await sandbox.client.raw({ method: "GET", path });
  const codes = await Promise.all([
    server.raw({ method: "PATCH", path, body: { metadata }, contentType: MERGE }),
    server.raw({
      method: "PATCH",
      path,
      body: found.body,
      contentType: "application/apply-patch+yaml",
      query: { fieldManager: "server", force: "true" },
    }),
    server.raw({ method: "PUT", path, body: found.body }),
    server.raw({ method: "DELETE", path }),
  ]);
  expect(codes.map(({ code }) => code)).toEqual([403, 403, 403, 403]);
  expect((await sandbox.client.raw({ method: "GET", path })).body).toEqual(found.body);
});

test("the server's token can read only its own Secret", async () => {
  const paths = [
    `${SECRET}/lifeboat-server`,
    `${SECRET}/another`,
    SECRET,
    "/api/v1/secrets",
    "/api/v1/namespaces/shop/secrets/db",
  ];
  const codes = await Promise.all(paths.map(async (path) => (await server.raw({ method: "GET", path })).code));
  expect(codes).toEqual([200, 403, 403, 403, 403]);
});

const Review = z.object({ request: z.object({ uid: z.string(), resource: z.object({ resource: z.string() }) }) });

test("the holder of the server's token cannot redirect the cluster's writes", async () => {
  const { certPem: cert, keyPem: key } = await makeCertificate("localhost", validityFrom(new Date()));
  const received: string[] = [];
  const veto = async (request: IncomingMessage, response: ServerResponse) => {
    const { uid, resource } = Review.parse(JSON.parse(await text(request))).request;
    received.push(resource.resource);
    const review = { uid, allowed: false, status: { code: 403, message: "vetoed" } };
    response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: review }));
  };
  const attacker = createServer({ cert, key }, (request, response) => {
    void veto(request, response);
  });
  await new Promise<void>((resolve) => attacker.listen(0, "127.0.0.1", resolve));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
  const { port } = attacker.address() as AddressInfo;
  const clientConfig = { url: `https://localhost:${port}/x`, caBundle: base64(cert) };
  const rules = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], scope: "*" }];
  const taking = [
    { op: "replace", path: "/webhooks/0/clientConfig", value: clientConfig },
    { op: "replace", path: "/webhooks/0/rules", value: rules },
    { op: "remove", path: "/webhooks/0/matchConditions" },
    { op: "replace", path: "/webhooks/0/failurePolicy", value: "Fail" },
  ];
  const own = { name: "x.example.com", clientConfig, rules, admissionReviewVersions: ["v1"], sideEffects: "None" };
  const attempts = [
    ...[`${WEBHOOKS}/lifeboat`, `${WEBHOOKS}/lifeboat-guard`].map((path) => {
      return server.raw({ method: "PATCH", path, body: taking, contentType: "application/json-patch+json" });
    }),
    ...[WEBHOOKS, MUTATING].map((path) => {
      return server.raw({ method: "POST", path, body: { metadata: { name: "own" }, webhooks: [own] } });
    }),
  ];
  expect((await Promise.all(attempts)).map(({ code }) => code)).toEqual([403, 403, 403, 403]);
  const namespace = "victim";
  await sandbox.client.create(namespaces, { metadata: { name: namespace } });
  await sandbox.client.create(secrets, { metadata: { namespace, name: "db" }, data: { password: base64("hunter2") } });
  await sandbox.client.create(configMaps, { metadata: { namespace, name: "settings" } });
  expect(received).toEqual([]);
  attacker.closeAllConnections();
  await new Promise((resolve) => attacker.close(resolve));
});
