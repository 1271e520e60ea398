/**
 * Starts a sandbox with the shipped manifests for tests of the API server's own rules: RBAC, admission and stored
 * fields. No controller moves VMs. virt-api sets evacuationNodeName when it reviews an eviction, and can remove it.
 */
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createBareNode } from "./bare-node.ts";
import {
  applyManifests,
  core,
  type KubeClient,
  KUBEVIRT,
  kubevirt,
  KUBEVIRT_RBAC,
  PATHS,
  type Sandbox,
  type SimulatedSandbox,
  startSandbox,
  startVirtApi,
  SUBRESOURCES,
  systemClock,
  type VirtApi,
} from "../../../infra/sandbox/index.ts";
import { applyLifeboat } from "../../../infra/lab/stage/apply.ts";
import { entry, TOKENS } from "../app.ts";

export const NAMESPACE = "apps";
export type Vmi = kubevirt.VirtualMachineInstance;

export interface TestVm {
  readonly name: string;
  readonly strategy?: string;
  readonly migratable?: boolean;
  readonly status?: Partial<NonNullable<Vmi["status"]>>;
}

export interface SandboxCluster {
  readonly client: KubeClient;
  readonly kubeconfig: string;
  readonly entry: ReturnType<typeof entry>;
  /** Creates a VMI on node01 and its launcher pod. Resolves to the pod's namespace and name. */
  createVm(vm: TestVm): Promise<{ namespace: string; name: string }>;
  patchVmi(name: string, body: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** Makes `fetch` trust the sandbox's CA. */
export function trust({ caPem }: Pick<Sandbox, "caPem">): void {
  setDefaultCACertificates([...getCACertificates("default"), caPem]);
}

/**
 * Starts the sandbox. `optional` lists paths of more manifests in infra/kubernetes. `clock` is the clock of the API
 * server.
 */
export async function startSandboxCluster(
  optional: readonly string[] = [],
  clock = systemClock,
): Promise<SandboxCluster> {
  const sandbox = await startSandbox({ empty: true, clock });
  trust(sandbox);
  const { client } = sandbox;
  await applyManifests(client, [...KUBEVIRT_RBAC, KUBEVIRT]);
  const site = { url: "https://127.0.0.1:1/clusters/prod", webhookToken: TOKENS.webhookToken };
  const { token } = await applyLifeboat(client, { ...site, caPem: sandbox.caPem, optional });
  const virtApi = await startMarking(sandbox);
  await client.create(core.namespaces, { metadata: { name: NAMESPACE } });
  await createBareNode(client, "node01");
  const vmis = kubevirt.virtualMachineInstances;
  return {
    client,
    kubeconfig: sandbox.kubeconfig,
    entry: entry(sandbox.url, { token }),
    async createVm(vm) {
      const { metadata } = await client.create(vmis, vmiOf(vm));
      return await createLauncher(client, metadata);
    },
    patchVmi: (name, body) => client.patch(vmis, { namespace: NAMESPACE, name }, { type: "merge", body }),
    async stop() {
      await virtApi.stop();
      await sandbox.stop();
    },
  };
}

/** Installs virt-api's webhook with another name, because Lifeboat recognizes KubeVirt's webhooks by name. */
async function startMarking({ client, authority, caPem, apiServer }: SimulatedSandbox): Promise<VirtApi> {
  const virtApi = await startVirtApi(client, authority);
  apiServer.aggregate(SUBRESOURCES, { url: virtApi.url, caPem });
  const webhook = {
    name: "evictions.kubevirt.test",
    clientConfig: { url: `${virtApi.url}${PATHS.admitEviction}`, caBundle: Buffer.from(caPem).toString("base64") },
    rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] }],
    admissionReviewVersions: ["v1"],
    sideEffects: "NoneOnDryRun",
    failurePolicy: "Fail",
  };
  const kind = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration" };
  const manifest = { ...kind, metadata: { name: "evictions-only" }, webhooks: [webhook] };
  await applyManifests(client, [manifest]);
  return virtApi;
}

function vmiOf({ name, strategy, migratable = true, status }: TestVm) {
  const reason = migratable ? {} : { reason: "DisksNotLiveMigratable" };
  return {
    metadata: { namespace: NAMESPACE, name, labels: { app: name }, annotations: { note: "kept" } },
    spec: { domain: { devices: {} }, ...(strategy === undefined ? {} : { evictionStrategy: strategy }) },
    status: {
      phase: "Running",
      nodeName: "node01",
      conditions: [{ type: "LiveMigratable", status: migratable ? "True" : "False", ...reason }],
      ...status,
    },
  };
}

async function createLauncher(client: KubeClient, { name, uid }: core.Metadata) {
  const key = { namespace: NAMESPACE, name: `virt-launcher-${name}-abcde` };
  const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", name, uid, controller: true };
  const pod = await client.create(core.pods, {
    metadata: {
      ...key,
      labels: { "kubevirt.io": "virt-launcher", "kubevirt.io/created-by": uid },
      annotations: { "kubevirt.io/domain": name },
      ownerReferences: [owner],
    },
    spec: { nodeName: "node01", containers: [{ name: "compute", image: "virt-launcher" }] },
  });
  const ready = { type: "Ready", status: "True" };
  const body = { status: { phase: "Running", conditions: [ready] } };
  await client.patch(core.pods, key, { type: "merge", body }, { subresource: "status" });
  const activePods = { [pod.metadata.uid]: "node01" };
  const status = { type: "merge", body: { status: { activePods } } } as const;
  await client.patch(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }, status);
  return key;
}
