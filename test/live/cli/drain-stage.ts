/**
 * A stage for `lifeboat drain`. The command runs in this process and connects to a sandbox with Lifeboat over HTTPS.
 */
import { afterAll, beforeAll } from "vitest";
import { nodeEvacuations } from "../../../infra/lab/stage/evacuations.ts";
import {
  createNode,
  createVirtualMachine,
  isTrue,
  kubeVirts,
  nodes,
  pods,
  waitFor,
} from "../../../infra/sandbox/index.ts";
import { lifeboat, type Person } from "../../support/cli/lifeboat.ts";
import { NAMESPACE, type Stage, startStage } from "../stage.ts";
import { getVmi } from "../vm.ts";

export interface PodOptions {
  readonly node: string;
  readonly name: string;
  /** The kind of the pod's controller. If undefined, the pod has no controller. */
  readonly controller?: string;
  readonly emptyDir?: boolean;
}

/**
 * Starts a stage with two spare nodes before the tests. Each test drains its own nodes, and the VMs move to the spare
 * nodes.
 */
export function useDrains() {
  let started: Stage | undefined;
  let made = 0;
  beforeAll(async () => {
    const optional = ["optional/maintenance/maintenance.yaml"];
    started = await startStage({ nodes: ["spare-1", "spare-2"], optional, relay: true });
  });
  afterAll(() => started?.stop());
  const stage = () => {
    if (started === undefined) throw new Error("the stage is not set yet");
    return started;
  };
  const vmi = (name: string) => getVmi(stage().client, name);
  const vmOn = async (node: string, more: Partial<Parameters<Stage["createVm"]>[0]> = {}) => {
    const name = `vm-${(made += 1)}`;
    await stage().createVm({ name, node, evictionStrategy: "LiveMigrate", ...more });
    return name;
  };
  return {
    get stage() {
      return stage();
    },
    lifeboat: (line: string, person: Partial<Person> = {}) =>
      lifeboat(line, { kubeconfig: stage().sandbox.kubeconfig, isPatient: true, ...person }),
    async freshNode(labels: Readonly<Record<string, string>> = {}) {
      const name = `drained-${(made += 1)}`;
      await createNode(stage().client, name);
      await stage().client.patch(nodes, { name }, { type: "merge", body: { metadata: { labels } } });
      return name;
    },
    isCordoned: async (name: string) => (await stage().client.get(nodes, { name }))?.spec?.unschedulable === true,
    async uncordon(name: string) {
      const body = { spec: { unschedulable: null } };
      await stage().client.patch(nodes, { name }, { type: "merge", body });
    },
    async podsOn(node: string): Promise<readonly string[]> {
      const { items } = await stage().client.list(pods, undefined, { fieldSelector: `spec.nodeName=${node}` });
      return items.filter(({ status }) => status?.phase === "Running").map(({ metadata }) => metadata.name);
    },
    async maintenanceOf(node: string) {
      const { items } = await stage().client.list(nodeEvacuations);
      return items.filter(({ spec }) => spec.nodeName === node);
    },
    /**
     * Creates a pod that belongs to no VM. The API group of its controller does not exist, so nothing recreates or
     * garbage-collects the pod.
     */
    async createOtherPod({ node, name, controller, emptyDir }: PodOptions): Promise<void> {
      const owner = { apiVersion: "example.com/v1", kind: controller ?? "", name: "owner", uid: crypto.randomUUID() };
      await stage().client.create(pods, {
        metadata: {
          namespace: "default",
          name,
          ...(controller !== undefined && { ownerReferences: [{ ...owner, controller: true }] }),
        },
        spec: {
          nodeName: node,
          containers: [{ name: "main", image: "registry.k8s.io/pause:3.10" }],
          tolerations: [{ operator: "Exists" }],
          terminationGracePeriodSeconds: 1,
          ...(emptyDir === true && { volumes: [{ name: "scratch", emptyDir: {} }] }),
        },
      });
      await waitFor(stage().client, {
        resource: pods,
        key: { namespace: "default", name },
        what: "ready",
        until: ({ status }) => isTrue(status?.conditions, "Ready"),
      });
    },
    vmi,
    vmOn,
    pinnedOn: (node: string) => vmOn(node, { migratable: false }),
    async restartableOn(node: string) {
      const name = `vm-${(made += 1)}`;
      const vm = { namespace: NAMESPACE, name, node, evictionStrategy: "LiveMigrate", migratable: false };
      await createVirtualMachine(stage().client, "Always", { ...vm, reason: "HostDeviceNotLiveMigratable" });
      return name;
    },
    nodeOf: async (name: string) => (await vmi(name)).status?.nodeName,
    async limitMigrations(parallelMigrationsPerCluster: number) {
      const body = { spec: { configuration: { migrations: { parallelMigrationsPerCluster } } } };
      await stage().client.patch(kubeVirts, { namespace: "kubevirt", name: "kubevirt" }, { type: "merge", body });
    },
  };
}
