/** Runs virt-api with some guests and without KubeVirt's controllers, so only requests change the guests. */
import { namespaces, type Metadata } from "../../actors/resources.ts";
import { grant } from "../../actors/rbac.ts";
import type { RawRequest } from "../../actors/transport.ts";
import { KUBEVIRT, KUBEVIRT_RBAC } from "../../kubevirt/manifests.ts";
import * as kubevirt from "../../kubevirt/resources.ts";
import { startVirtApi } from "../../kubevirt/virt-api.ts";
import { webhookConfigurations } from "../../kubevirt/webhooks/configurations.ts";
import { applyManifests } from "../../manifests.ts";
import { startSandbox, type Sandbox } from "../../sandbox.ts";

export const NAMESPACE = "kvf";

/** The service account that sent the recorded requests. It is not an account of KubeVirt. */
export const FOREIGN = "system:serviceaccount:lifeboat-system:lifeboat";
const VIRT_API = "system:serviceaccount:kubevirt:kubevirt-apiserver";
export const VIRT_CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller";

const MIGRATABLE = { type: "LiveMigratable", status: "True" };
const PINNED = {
  type: "LiveMigratable",
  status: "False",
  reason: "DisksNotLiveMigratable",
  message: "cannot migrate VMI: PVC x is not shared",
};

// prettier-ignore
const GUESTS = [
  { name: "ok",     phase: "Running",   condition: MIGRATABLE },
  { name: "busy",   phase: "Running",   condition: MIGRATABLE },
  { name: "final",  phase: "Succeeded", condition: MIGRATABLE },
  { name: "pinned", phase: "Running",   condition: PINNED     },
  { name: "away",   phase: "Running",   condition: MIGRATABLE },
];

export interface Answer {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
  readonly metadata: Metadata;
  readonly status?: { readonly evacuationNodeName?: string };
}

export interface Guests {
  readonly sandbox: Sandbox;
  ask(user: string, request: RawRequest): Promise<Answer>;
  stop(): Promise<void>;
}

export async function startGuests(): Promise<Guests> {
  const sandbox = await startSandbox({ empty: true });
  const { client, authority, caPem } = sandbox;
  const everything = [
    { apiGroups: ["kubevirt.io"], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
  ];
  await applyManifests(client, [
    ...KUBEVIRT_RBAC,
    KUBEVIRT,
    ...grant("foreign", { kind: "User", name: FOREIGN }, everything),
  ]);
  const virtApi = await startVirtApi(client.as(VIRT_API), authority);
  await applyManifests(client, webhookConfigurations({ url: virtApi.url, caPem }, { evictionWebhook: true }));
  await client.create(namespaces, { metadata: { name: NAMESPACE } });
  for (const { name, phase, condition } of GUESTS) {
    const metadata = { namespace: NAMESPACE, name };
    const spec = { domain: { devices: {} }, evictionStrategy: "LiveMigrate" };
    await client.create(kubevirt.virtualMachineInstances, { metadata, spec });
    const body = { status: { phase, nodeName: "node01", conditions: [condition] } };
    await client.as(VIRT_CONTROLLER).patch(kubevirt.virtualMachineInstances, metadata, { type: "merge", body });
  }
  return {
    sandbox,
    async ask(user, request) {
      const { code, body } = await client.as(user).raw(request);
      return { ...(body as Answer), code };
    },
    async stop() {
      await virtApi.stop();
      await sandbox.stop();
    },
  };
}
