/** Least privilege of the relay, shown: each permission taken away, and the watch that then does not come about. */
import { KubeConfig } from "@kubernetes/client-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { createLog } from "../../infra/relay/log.ts";
import { type Relay, startRelay } from "../../infra/relay/relay.ts";
import { serviceAccounts } from "../../infra/sandbox/actors/resources.ts";
import { kubeconfigText } from "../../infra/sandbox/kubeconfig.ts";
import { applyManifests } from "../../infra/sandbox/manifests.ts";
import { RELAYS_NEEDS } from "../manifests/least-privilege.ts";
import { readManifests, without } from "../manifests/shipped.ts";
import { SECRET } from "./fake-worker.ts";
import { soon, type Stage, startStage } from "./stage.ts";

const RBAC = "../relay/kubernetes/rbac.yaml";
const Issued = z.object({ status: z.object({ token: z.string() }) });

let stage: Stage;
let kubeConfig: KubeConfig;
beforeAll(async () => {
  stage = await startStage();
  const { client, sandbox } = stage;
  for (const file of ["namespace.yaml", "../relay/kubernetes/serviceaccount.yaml", RBAC])
    await applyManifests(client, readManifests(file));
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } };
  const account = { namespace: "lifeboat-system", name: "lifeboat-relay" };
  const { token } = Issued.parse(await client.post(serviceAccounts, account, "token", request)).status;
  kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(kubeconfigText({ url: sandbox.url, caPem: sandbox.caPem, user: "relay", token }));
});
afterAll(() => stage.stop());

function start(log: string[]): Relay {
  return startRelay({
    kubeConfig,
    endpoint: new URL(`${stage.worker.url}/clusters/sandbox/events`),
    secret: SECRET,
    clock: stage.clock,
    random: Math.random,
    fetch: globalThis.fetch,
    log: createLog(stage.clock, (line) => log.push(line)),
  });
}

/** Watches that were refused. */
function refused(log: readonly string[]): readonly string[] {
  const Line = z.object({ watch: z.optional(z.string()), reason: z.optional(z.string()) });
  const lines = log.map((line) => Line.parse(JSON.parse(line)));
  return lines.flatMap(({ watch, reason }) =>
    watch !== undefined && /403|Forbidden/.test(reason ?? "") ? [watch] : [],
  );
}

test.each(RELAYS_NEEDS)("without $permission: $without", async (need) => {
  const log: string[] = [];
  await applyManifests(
    stage.client,
    readManifests(RBAC).map((manifest) => without(manifest, need.permission)),
  );
  const relay = start(log);
  await soon(() => expect(refused(log)).toContain(need.refused));
  expect(relay.metrics()).toContain(`lifeboat_relay_watch_failures_total{watch="${need.refused}"}`);
  // A resource has one watch, or one for each of the kubelet's reasons.
  expect(refused(log).filter((watch) => !watch.startsWith(need.refused.replace("evicted", "")))).toEqual([]);
  await relay.stop();
});

test("with all of them the relay becomes ready, and nothing is refused", async () => {
  const log: string[] = [];
  await applyManifests(stage.client, readManifests(RBAC));
  const relay = start(log);
  await soon(() => expect(relay.isReady()).toBe(true));
  expect(refused(log)).toEqual([]);
  await relay.stop();
});
