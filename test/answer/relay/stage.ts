/** A cluster with the kinds of KubeVirt, a Worker that takes events, and as many relays as a test wants between them. */
import { KubeConfig } from "@kubernetes/client-node";
import { createBareNode } from "../../support/bare-node.ts";
import { expect, vi } from "vitest";
import * as z from "zod/mini";
import { createLog } from "../../../infra/relay/log.ts";
import { type Relay, type RelayOptions, startRelay } from "../../../infra/relay/relay.ts";
import {
  applyManifests,
  createSteppedClock,
  type Event,
  events,
  type KubeClient,
  kubeconfigText,
  kubevirt,
  namespaces,
  type Node,
  type Pod,
  pods,
  type Sandbox,
  serviceAccounts,
  startSandbox,
  type SteppedClock,
} from "../../../infra/sandbox/index.ts";
import type { LifeboatEvent } from "../../../shared/events/cloud-event.ts";
import { readManifests } from "../../support/manifests/shipped.ts";
import { type ApiProxy, startApiProxy } from "./api-proxy.ts";
import { type FakeWorker, SECRET, startFakeWorker } from "./fake-worker.ts";

export const NAMESPACE = "vms";
export const RBAC = "../relay/kubernetes/rbac.yaml";
const INSTALLED = ["namespace.yaml", "../relay/kubernetes/serviceaccount.yaml", RBAC];
const Issued = z.object({ status: z.object({ token: z.string() }) });

export interface Stage {
  readonly sandbox: Sandbox;
  readonly client: KubeClient;
  readonly clock: SteppedClock;
  readonly worker: FakeWorker;
  /** Between the relays and the API server. */
  readonly proxy: ApiProxy;
  readonly log: readonly string[];
  /** Resolves when it is ready. `within`: of an app in the same process. */
  startRelay(within?: RelayOptions["within"]): Promise<Relay>;
  /** With another token, straight to the API server. */
  startRelayAs(token: string): Relay;
  /** The relay's shipped account and permissions; resolves to a token of its own. */
  install(): Promise<string>;
  createPod(name: string, labels?: Readonly<Record<string, string>>): Promise<Pod>;
  createVmi(name: string): Promise<kubevirt.VirtualMachineInstance>;
  createNode(name: string): Promise<Node>;
  /** As the kubelet tells it. */
  tell(about: Pod, reason: string): Promise<Event>;
  /** As the scheduler, before it deletes. */
  preempt(pod: Pod): Promise<Pod>;
  stop(): Promise<void>;
}

export async function startStage(): Promise<Stage> {
  const sandbox = await startSandbox({ empty: true });
  const { client } = sandbox;
  const clock = createSteppedClock(new Date());
  const worker = await startFakeWorker(() => clock.now());
  const proxy = await startApiProxy(sandbox.url, sandbox.authority);
  const relays: Relay[] = [];
  const log: string[] = [];
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  await applyManifests(client, ["crds/evacuations.yaml", "crds/nodeevacuations.yaml"].flatMap(readManifests));

  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromString(sandbox.kubeconfig.replaceAll(sandbox.url, proxy.url));
  const start = (as: KubeConfig, within?: RelayOptions["within"]) => {
    const relay = startRelay({
      kubeConfig: as,
      endpoint: new URL(`${worker.url}/clusters/sandbox/events`),
      secret: SECRET,
      clock,
      random: Math.random,
      fetch: globalThis.fetch,
      log: createLog(clock, (line) => log.push(line)),
      ...(within && { within }),
    });
    relays.push(relay);
    return relay;
  };
  return {
    sandbox,
    client,
    clock,
    worker,
    proxy,
    log,
    async startRelay(within) {
      const relay = start(kubeConfig, within);
      await soon(() => expect(relay.isReady()).toBe(true));
      return relay;
    },
    startRelayAs(token) {
      const other = new KubeConfig();
      other.loadFromString(kubeconfigText({ url: sandbox.url, caPem: sandbox.caPem, user: "relay", token }));
      return start(other);
    },
    async install() {
      for (const file of INSTALLED) await applyManifests(client, readManifests(file));
      const request = {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 3_600 },
      };
      const account = { namespace: "lifeboat-system", name: "lifeboat-relay" };
      return Issued.parse(await client.post(serviceAccounts, account, "token", request)).status.token;
    },
    createPod: (name, labels = { "kubevirt.io": "virt-launcher" }) =>
      client.create(pods, {
        metadata: { namespace: NAMESPACE, name, labels },
        spec: { nodeName: "node01", containers: [{ name: "compute", image: "virt-launcher" }] },
      }),
    createVmi: (name) =>
      client.create(kubevirt.virtualMachineInstances, {
        metadata: { namespace: NAMESPACE, name },
        spec: { domain: { devices: {} }, evictionStrategy: "LiveMigrate" },
      }),
    createNode: (name) => createBareNode(client, name),
    tell: ({ metadata: { namespace = "", name, uid } }, reason) =>
      client.create(events, {
        metadata: { namespace, name: `${name}.${reason.toLowerCase()}` },
        involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
        reason,
        source: { component: "kubelet" },
        lastTimestamp: clock.now().toISOString().replace(/\.\d+/, ""),
        count: 1,
      }),
    preempt: (pod) =>
      client.patch(
        pods,
        pod.metadata,
        { type: "strategic", body: { status: { conditions: [preempted(clock)] } } },
        { subresource: "status" },
      ),
    async stop() {
      for (const each of [...relays, worker, proxy, sandbox]) await each.stop();
      expect(worker.problems).toEqual([]);
    },
  };
}

function preempted(clock: SteppedClock) {
  const lastTransitionTime = clock.now().toISOString().replace(/\.\d+/, "");
  return { type: "DisruptionTarget", status: "True", reason: "PreemptionByScheduler", lastTransitionTime };
}

export function soon(assertion: () => void): Promise<void> {
  return vi.waitFor(assertion, { interval: 5, timeout: 15_000 });
}

/** `pod.disrupted vms/virt-launcher-a` */
export function brief(delivered: readonly LifeboatEvent[]): readonly string[] {
  return delivered.map(({ type, subject }) => `${type.replace(/^dev\.lifeboat\.|\.v1$/g, "")} ${subject}`);
}
