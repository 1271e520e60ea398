/** Builds the requests that holders of credentials send to an API server. */
import { core, createVirtualMachine, kubevirt, type RawRequest, type Sandbox } from "../../../infra/sandbox/index.ts";

export const [APPS, OTHERS, OWN] = ["apps", "others", "lifeboat-system"];
export const KUBEVIRT = "/apis/kubevirt.io/v1";
export const LIFEBOAT = "/apis/lifeboat.dev/v1alpha1";
export const AUTHORIZATION = "/apis/authorization.k8s.io/v1";

let made = 0;
export const pathOf = (plural: string, name = "", namespace = APPS) =>
  `${plural.startsWith("/") ? plural : "/api/v1"}/namespaces/${namespace}/${plural.split("/").at(-1)}${name && `/${name}`}`;

/** Builds a request. The functions in `given` create the objects that the request needs. */
export type Deed = (given: Given) => RawRequest | Promise<RawRequest>;

export interface Given {
  readonly sandbox: Sandbox;
  readonly pod: (component?: string) => Promise<{ readonly path: string; readonly uid: string }>;
  readonly vmi: () => Promise<string>;
}

export const get =
  (path: string): Deed =>
  () => ({ method: "GET", path });
export const post =
  (path: string, body: object): Deed =>
  () => ({ method: "POST", path, body });
export const merge = (path: string, body: object): RawRequest => {
  return { method: "PATCH", path, body, contentType: "application/merge-patch+json" };
};
export const metadata = (namespace?: string) => ({ name: `made-${++made}`, ...(namespace && { namespace }) });
export const NEVER_WAS = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "never-was",
  uid: "00000000-0000-0000-0000-000000000001",
};

export const deletesPod: Deed = async ({ pod }) => {
  const { path, uid } = await pod("virt-launcher");
  return { method: "DELETE", path, body: { preconditions: { uid } } };
};
export const deletesOtherPod: Deed = async ({ pod }) => {
  const { path, uid } = await pod();
  return { method: "DELETE", path, body: { preconditions: { uid } } };
};
export const changesPod =
  (body: object): Deed =>
  async ({ pod }) =>
    merge((await pod("virt-launcher")).path, body);
export function evictionOf(path: string, uid: string | undefined): RawRequest {
  const body = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: path.split("/").at(-1), namespace: APPS },
    deleteOptions: { preconditions: { uid } },
  };
  return { method: "POST", path: `${path}/eviction`, body };
}
export const evicts: Deed = async ({ pod }) => {
  const { path, uid } = await pod();
  return evictionOf(path, uid);
};
export const changesVmi =
  (body: object): Deed =>
  async ({ vmi }) =>
    merge(await vmi(), body);
export const evacuation =
  (spec: object = {}, namespace = APPS): Deed =>
  () => ({
    method: "POST",
    path: `${LIFEBOAT}/namespaces/${namespace}/evacuations`,
    body: {
      apiVersion: "lifeboat.dev/v1alpha1",
      kind: "Evacuation",
      metadata: metadata(namespace),
      spec: { virtualMachineInstance: { name: "web" }, cause: "Operator", ...spec },
    },
  });
export const migration: Deed = async ({ vmi }) => ({
  method: "POST",
  path: `${KUBEVIRT}/namespaces/${APPS}/virtualmachineinstancemigrations`,
  body: {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstanceMigration",
    metadata: metadata(APPS),
    spec: { vmiName: (await vmi()).split("/").at(-1) },
  },
});
/** If the account may cancel evacuations, virt-api answers 500 here, because the VM has no evacuationNodeName. */
export const cancelsEvacuation: Deed = async ({ vmi }) => {
  const path = (await vmi()).replace("/apis/kubevirt.io", "/apis/subresources.kubevirt.io");
  return { method: "PUT", path: `${path}/evacuate/cancel`, body: {} };
};
export const budget: Deed = () => ({
  method: "POST",
  path: `/apis/policy/v1/namespaces/${APPS}/poddisruptionbudgets`,
  body: {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: metadata(APPS),
    spec: { minAvailable: 1 },
  },
});
export const runsImage = changesPod({ spec: { containers: [{ name: "c", image: "evil" }] } });
export const onVm =
  (verb: string): Deed =>
  async ({ sandbox }) => {
    const name = `vm-${++made}`;
    await createVirtualMachine(sandbox.client, "Always", { namespace: APPS, name });
    return {
      method: "PUT",
      path: `/apis/subresources.kubevirt.io/v1/namespaces/${APPS}/virtualmachines/${name}/${verb}`,
      body: {},
    };
  };

export function givenIn(sandbox: Sandbox): Given {
  const { client } = sandbox;
  return {
    sandbox,
    async pod(component) {
      const name = `pod-${++made}`;
      const labels = component === undefined ? {} : { "kubevirt.io": component };
      const { metadata } = await client.create(core.pods, {
        metadata: { namespace: APPS, name, labels },
        spec: { containers: [{ name: "c", image: "good" }], schedulerName: "none" },
      });
      return { path: pathOf("pods", name), uid: metadata.uid };
    },
    async vmi() {
      const name = `vmi-${++made}`;
      await client.create(kubevirt.virtualMachineInstances, {
        metadata: { namespace: APPS, name },
        spec: { domain: { devices: {} } },
      });
      return `${KUBEVIRT}/namespaces/${APPS}/virtualmachineinstances/${name}`;
    },
  };
}

export const event = post(pathOf("events"), {
  apiVersion: "v1",
  kind: "Event",
  metadata: { namespace: APPS, name: "e-1" },
  involvedObject: { kind: "Pod", namespace: APPS, name: "x" },
  reason: "Any",
  message: "any",
  type: "Normal",
  reportingComponent: "any",
  reportingInstance: "any",
  action: "any",
  eventTime: "2026-01-01T00:00:00.000000Z",
});

const changesNode = (change: object) => () => merge("/api/v1/nodes/node-1", change);
const [key, effect] = ["lifeboat.dev/maintenance-pending", "PreferNoSchedule"];
export const ownNodeChanges: readonly Deed[] = [
  changesNode({ spec: { unschedulable: true } }),
  changesNode({ metadata: { annotations: { "lifeboat.dev/cordoned-by": "x" } } }),
  changesNode({ spec: { taints: [{ key, effect }] } }),
];
export const otherNodeChanges: readonly Deed[] = [
  changesNode({ metadata: { labels: { a: "b" } } }),
  changesNode({ metadata: { annotations: { a: "b" } } }),
  changesNode({ spec: { taints: [{ key, effect: "NoExecute" }] } }),
];

export type Sentence = readonly [words: string, can: readonly Deed[], cannot?: readonly Deed[]];

export interface Holder {
  readonly of: string;
  readonly user: string;
  readonly files?: readonly string[];
  readonly sentences: readonly Sentence[];
}
