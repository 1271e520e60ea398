/** Starts a cluster with KubeVirt's kinds, a Worker that receives events, and any number of relays. */
import { expect, vi } from "vitest";
import * as z from "zod/mini";
import { createLog } from "../../../infra/relay/log.ts";
import { type Relay, type RelayOptions, startRelay } from "../../../infra/relay/relay.ts";
import {
  applyManifests,
  createSteppedClock,
  type Event,
  events,
  kubeconfigOf,
  kubevirt,
  namespaces,
  nodes,
  type Pod,
  pods,
  serviceAccounts,
  startSandbox,
} from "../../../infra/sandbox/index.ts";
import { evacuations, nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { overHttp } from "../../../infra/relay/send.ts";
import { ENDPOINT, FakeWorker, SECRET } from "./fake-worker.ts";

export const NAMESPACE = "vms";
export const RBAC = "../relay/kubernetes/rbac.yaml";
const ACCOUNT = { namespace: "lifeboat-system", name: "lifeboat-relay" };
const RELAY = `system:serviceaccount:${ACCOUNT.namespace}:${ACCOUNT.name}`;
const INSTALLED = [
  "namespace.yaml",
  "crds/evacuations.yaml",
  "crds/nodeevacuations.yaml",
  "crds/rollingmaintenances.yaml",
  "../relay/kubernetes/serviceaccount.yaml",
  RBAC,
];
const Issued = z.object({ status: z.object({ token: z.string() }) });

export type Stage = Awaited<ReturnType<typeof startStage>>;

export async function startStage() {
  const sandbox = await startSandbox({ empty: true });
  const { client, url, caPem, adminToken, apiServer } = sandbox;
  const clock = createSteppedClock(new Date());
  const worker = new FakeWorker(() => clock.now());
  const relays: Relay[] = [];
  const log: string[] = [];
  const now = () => clock.now().toISOString().replace(/\.\d+/, "");
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await applyManifests(client, INSTALLED.flatMap(readManifests));
  const { token } = Issued.parse(await client.post(serviceAccounts, ACCOUNT, "token", { spec: {} })).status;
  const credentials = { url, caPem, user: "relay", token };

  const start = (within?: RelayOptions["within"]): Relay => {
    const relay = startRelay({
      // A relay inside the app uses the app's account.
      kubeConfig: kubeconfigOf(within ? { ...credentials, token: adminToken } : credentials),
      deliver: overHttp({ endpoint: ENDPOINT, secret: SECRET, clock, fetch: worker.fetch }),
      clock,
      random: Math.random,
      log: createLog(clock, (line) => log.push(line)),
      ...(within && { within }),
    });
    relays.push(relay);
    return relay;
  };
  return {
    client,
    apiServer,
    credentials,
    clock,
    worker,
    log,
    start,
    async startReady(within?: RelayOptions["within"]): Promise<Relay> {
      const relay = start(within);
      await soon(() => expect(relay.isReady()).toBe(true));
      return relay;
    },
    /** Closes all connections of relays and refuses new connections. The returned function ends this fault. */
    async cut(): Promise<() => void> {
      const mend = apiServer.faults.inject({ match: { users: [RELAY] }, effect: { type: "ConnectionReset" } });
      await apiServer.suspend();
      await apiServer.resume();
      return mend;
    },
    createPod: (name: string): Promise<Pod> =>
      client.create(pods, {
        metadata: { namespace: NAMESPACE, name, labels: { "kubevirt.io": "virt-launcher" } },
        spec: { nodeName: "node01", containers: [{ name: "compute", image: "virt-launcher" }] },
      }),
    createVmi: (name: string): Promise<kubevirt.VirtualMachineInstance> =>
      client.create(kubevirt.virtualMachineInstances, {
        metadata: { namespace: NAMESPACE, name },
        spec: { domain: { devices: {} }, evictionStrategy: "LiveMigrate" },
      }),
    report: ({ metadata: { namespace = "", name, uid } }: Pod, reason: string): Promise<Event> =>
      client.create(events, {
        metadata: { namespace, name: `${name}.${reason.toLowerCase()}` },
        involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
        reason,
        source: { component: "kubelet" },
        lastTimestamp: now(),
        count: 1,
      }),
    preempt({ metadata }: Pod): Promise<Pod> {
      const condition = { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler" };
      const body = { status: { conditions: [{ ...condition, lastTransitionTime: now() }] } };
      return client.patch(pods, metadata, { type: "strategic", body }, { subresource: "status" });
    },
    /** Returns all events that the Worker has accepted, for example `pod.disrupted vms/virt-launcher-a`. */
    reported: (): readonly string[] =>
      worker.taken.map(({ type, subject }) => `${type.replace(/^dev\.lifeboat\.|\.v1$/g, "")} ${subject}`),
    async stopRelays(): Promise<void> {
      for (const relay of relays.splice(0)) await relay.stop();
    },
    async reset(): Promise<void> {
      await this.stopRelays();
      for (const resource of [pods, kubevirt.virtualMachineInstances, evacuations, events])
        await client.deleteAll(resource, NAMESPACE, { gracePeriodSeconds: 0 });
      await client.delete(nodes, { name: "node01" });
      await client.deleteAll(nodeEvacuations, "", { gracePeriodSeconds: 0 });
      worker.attempts.length = 0;
    },
    async stop(): Promise<void> {
      await this.stopRelays();
      await sandbox.stop();
      expect(worker.problems).toEqual([]);
    },
  };
}

export function soon(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { interval: 5, timeout: 15_000 });
}
