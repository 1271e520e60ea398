/** Objects of a cluster for the tests of chaos runs: minimal ones, plus tweaks. */
import { viewOfPod, viewOfVmi, type World } from "../../infra/demo/world.ts";
import type { Pod, PodDisruptionBudget } from "../../infra/sandbox/actors/resources.ts";
import type {
  VirtualMachineInstance,
  VirtualMachineInstanceMigration,
  VirtualMachineInstanceStatus,
} from "../../infra/sandbox/kubevirt/resources.ts";
import type { Evacuation } from "../../infra/tools/evacuations.ts";

const CREATED = { resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
const MIGRATABLE = { type: "LiveMigratable", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };

export interface VmiTweak {
  readonly name?: string;
  readonly strategy?: string;
  readonly pinned?: true;
  readonly status?: Partial<VirtualMachineInstanceStatus>;
  readonly label?: string;
  readonly deleting?: true;
}

export function vmi(tweak: VmiTweak = {}): VirtualMachineInstance {
  const { name = "web", strategy = "LiveMigrate", pinned, status, label, deleting } = tweak;
  return {
    metadata: {
      ...CREATED,
      namespace: "run-1",
      name,
      uid: `uid-${name}`,
      ...(label !== undefined && { labels: { "lifeboat.dev/evacuation": label } }),
      ...(deleting && { deletionTimestamp: "2026-01-01T00:01:00Z" }),
    },
    spec: { domain: { devices: {} }, evictionStrategy: strategy },
    status: { phase: "Running", nodeName: "node-1", conditions: pinned ? [] : [MIGRATABLE], ...status },
  };
}

export function migration(
  name: string,
  phase?: string,
  { of = name, uid = name }: { of?: string; uid?: string } = {},
): VirtualMachineInstanceMigration {
  return {
    metadata: { ...CREATED, namespace: "run-1", name, uid },
    spec: { vmiName: of },
    ...(phase !== undefined && { status: { phase } }),
  };
}

export function budget(of: VirtualMachineInstance, minAvailable = 1): PodDisruptionBudget {
  const labels = { "app.kubernetes.io/managed-by": "lifeboat" };
  const matchLabels = { "kubevirt.io/created-by": of.metadata.uid };
  return {
    metadata: { ...CREATED, namespace: "run-1", name: `lifeboat-${of.metadata.name}`, uid: "uid-budget", labels },
    spec: { minAvailable, selector: { matchLabels } },
  };
}

/** Of VM `web`. */
export function evacuation(phase?: string): Evacuation {
  return {
    metadata: { ...CREATED, namespace: "run-1", name: "web-1", uid: "uid-web-1" },
    spec: { virtualMachineInstance: { name: "web" } },
    ...(phase !== undefined && { status: { virtualMachineInstanceUID: "uid-web", phase, message: "in words" } }),
  };
}

export function launcher(of: VirtualMachineInstance, annotations: Record<string, string> = {}): Pod {
  const name = `virt-launcher-${of.metadata.name}-abcde`;
  const labels = { "kubevirt.io/created-by": of.metadata.uid };
  return {
    metadata: { ...CREATED, namespace: "run-1", name, uid: `uid-${name}`, labels, annotations },
    spec: { containers: [], ...(of.status?.nodeName !== undefined && { nodeName: of.status.nodeName }) },
    status: { phase: "Running" },
  };
}

export function world(vmis: readonly VirtualMachineInstance[], pods: readonly Pod[] = []): World {
  return {
    vmis: new Map(vmis.map((v) => [v.metadata.uid, viewOfVmi(v)])),
    pods: new Map(pods.map((pod) => [pod.metadata.uid, viewOfPod(pod)])),
    migrations: new Map(),
    nodes: new Map(),
    events: new Map(),
  };
}
