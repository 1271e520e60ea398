/**
 * Creates random clusters with VMs of several classes. VMs of one class have the same launcher image, machine type, CPU
 * model, storage and architecture. KubeVirt reports all VMs as live-migratable, but the migrations of some classes
 * always fail.
 */
import * as fc from "fast-check";
import { expect } from "vitest";
import {
  ANNOTATION,
  createNode,
  kubevirt,
  LABEL,
  pods,
  startInformer,
  systemClock,
} from "../../infra/sandbox/index.ts";
import { CANARY_ANNOTATION } from "../../shared/plan/kinds.ts";
import { NAMESPACE, type SimulatedStage } from "./stage.ts";
import { launcherOf, untilVmi, type Vmi } from "./vm.ts";

/**
 * The points at which a migration fails. `Memory`: libvirt reports an error. `Start`: the target pod stops before it is
 * ready. `Transfer`: the target pod stops during the transfer.
 */
const POINTS = ["Memory", "Start", "Transfer"] as const;
type Point = (typeof POINTS)[number];

const VIRT_CONTROLLER = "system:serviceaccount:kubevirt:kubevirt-controller";
const OLD = "quay.io/kubevirt/virt-launcher:v1.8.2";
const NOW = "quay.io/kubevirt/virt-launcher:v1.9.0";
const LIBVIRT_SAYS = "operation failed: guest CPU doesn't match specification: missing features: vmx";

export function reasonOf(point: Point): string {
  switch (point) {
    case "Memory":
      return LIBVIRT_SAYS;
    case "Start":
      return "its target pod ended before it was ready";
    case "Transfer":
      return "the target pod ended during the migration";
  }
}

const HOSTS = ["Haswell", "Cascadelake-Server"] as const;

const SIDES = ["a", "b"] as const;

const kindShape = fc.record({
  isOld: fc.boolean(),
  machine: fc.constantFrom("pc-q35-rhel9.4.0", "pc-q35-rhel9.6.0"),
  cpuModel: fc.constantFrom("host-model", "host-model", "Haswell"),
  host: fc.constantFrom(...HOSTS),
  side: fc.constantFrom(...SIDES),
  architecture: fc.constantFrom("amd64", "amd64", "arm64"),
  storage: fc.constantFrom("none", "block/RWX", "filesystem/RWX"),
  memory: fc.array(fc.constantFrom("1Gi", "2Gi", "4Gi"), { minLength: 1, maxLength: 3 }),
  hasCanary: fc.boolean(),
  fails: fc.option(fc.constantFrom(...POINTS)),
});
type Kind = typeof kindShape extends fc.Arbitrary<infer T> ? T : never;

function classOf({ isOld, machine, cpuModel, host, storage, architecture }: Kind): string {
  const cpu = cpuModel === "host-model" ? `host-model ${host}` : cpuModel;
  return classText({ launcher: isOld ? OLD : NOW, machine, cpu, storage, architecture });
}

export function classText(one: Readonly<Record<"launcher" | "machine" | "cpu" | "storage" | "architecture", string>>) {
  return [one.launcher, one.machine, one.cpu, one.storage, one.architecture].join(" ");
}

const shape = fc.record({
  kinds: fc.uniqueArray(kindShape, { minLength: 2, maxLength: 5, selector: classOf }),
  /** The point at which migrations of the first kind of VM fail, so that at least one kind cannot migrate. */
  fails: fc.constantFrom(...POINTS),
});

interface Machine {
  readonly name: string;
  readonly kind: Kind;
  readonly memory: string;
  readonly isCanary: boolean;
}

export interface CanaryCluster {
  /** The point at which migrations fail, keyed by class. */
  readonly points: ReadonlyMap<string, Point>;
  readonly machines: readonly Machine[];
}

export function canaryClusterFor(seed: number): CanaryCluster {
  const [drawn] = fc.sample(shape, { seed, numRuns: 1 });
  if (drawn === undefined) throw new Error("nothing was drawn");
  const kinds = drawn.kinds.map((kind, at) => (at === 0 ? { ...kind, fails: drawn.fails } : kind));
  return {
    points: new Map(kinds.flatMap((kind) => (kind.fails === null ? [] : [[classOf(kind), kind.fails] as const]))),
    machines: kinds.flatMap((kind, at) =>
      kind.memory.map((memory, number) => ({
        name: `vm-${seed}-${at}-${number}`,
        kind,
        memory,
        isCanary: kind.hasCanary && number === kind.memory.length - 1,
      })),
    ),
  };
}

export async function createNodes({ client }: SimulatedStage): Promise<void> {
  const all = HOSTS.flatMap((host) => SIDES.map((side) => createNode(client, nodeOf({ host, side }), {}, cpuOf(host))));
  await Promise.all(all);
}

function nodeOf({ host, side }: Pick<Kind, "host" | "side">): string {
  return `${host.toLowerCase()}-${side}`;
}

/** Creates the VMs, and makes migrations of failing classes fail. Resolves to a function that deletes the VMs. */
export async function setUp(stage: SimulatedStage, cluster: CanaryCluster): Promise<() => Promise<void>> {
  await Promise.all(cluster.machines.map((machine) => createMachine(stage, machine)));
  const { client, sandbox } = stage;
  const vmis = startInformer({ client, clock: systemClock, resource: kubevirt.virtualMachineInstances });
  const launchers = startInformer({ client, clock: systemClock, resource: pods });
  const pointOf = (name: string) => pointNow(vmis.get(`${NAMESPACE}/${name}`), cluster);
  sandbox.migrations.configure({
    seconds: ({ name }) => (pointOf(name) === "Transfer" ? 60 : 0.1),
    outcome: ({ name }) => (pointOf(name) === "Memory" ? "Failed" : "Succeeded"),
    failureReason: () => LIBVIRT_SAYS,
  });
  const end = (pod = "") => sandbox.kubelets.failLivenessProbe(`${NAMESPACE}/${pod}`);
  launchers.onChange((pod, previous) => {
    const name = pod?.metadata.annotations?.[ANNOTATION.domain] ?? "";
    const isTarget = pod?.metadata.labels?.[LABEL.migrationJobUID] !== undefined;
    if (previous === undefined && isTarget && pointOf(name) === "Start") end(pod.metadata.name);
  });
  vmis.onChange((vmi, previous) => {
    const [state, before] = [vmi, previous].map((one) => one?.status?.migrationState);
    const hasBegun = state?.startTimestamp !== undefined && before?.startTimestamp === undefined;
    if (hasBegun && pointOf(vmi?.metadata.name ?? "") === "Transfer") end(state.targetPod);
  });
  await Promise.all([vmis.synced, launchers.synced]);
  return async () => {
    await client.deleteAll(kubevirt.virtualMachineInstances, NAMESPACE);
    await expect.poll(async () => (await client.list(pods, NAMESPACE)).items).toEqual([]);
    await expect.poll(async () => (await client.list(kubevirt.migrations, NAMESPACE)).items).toEqual([]);
    await Promise.all([vmis.stop(), launchers.stop()]);
  };
}

/**
 * Returns the point at which migrations of the VM fail. A VM that has migrated to the current launcher image belongs to
 * another class.
 */
function pointNow(vmi: Vmi | undefined, { machines, points }: CanaryCluster): Point | undefined {
  const kind = machines.find(({ name }) => name === vmi?.metadata.name)?.kind;
  const isOld = vmi?.metadata.labels?.[LABEL.outdatedLauncher] !== undefined;
  return kind && points.get(classOf({ ...kind, isOld }));
}

const label = (kind: string, name: string) => [`${kind}.node.kubevirt.io/${name}`, "true"] as const;

function cpuOf(host: (typeof HOSTS)[number]): Readonly<Record<string, string>> {
  const models = host === "Haswell" ? ["Haswell"] : HOSTS;
  return Object.fromEntries([
    label("host-model-cpu", host),
    label("cpu-vendor", "Intel"),
    ...models.flatMap((model) => [label("cpu-model", model), label("cpu-model-migration", model)]),
  ]);
}

/** Creates a VM, and adds the machine type and the volumes, which the sandbox does not set. */
async function createMachine(stage: SimulatedStage, { name, kind, memory, isCanary }: Machine): Promise<void> {
  const { cpuModel, architecture, machine, storage } = kind;
  await stage.createVm({ name, evictionStrategy: "LiveMigrate", node: nodeOf(kind), memory, cpuModel, architecture });
  const [volumeMode = "", mode] = storage.split("/");
  const claim = { accessModes: ["ReadWriteMany"], volumeMode: volumeMode === "block" ? "Block" : "Filesystem" };
  const body = {
    ...(isCanary && { metadata: { annotations: { [CANARY_ANNOTATION]: "true" } } }),
    status: {
      machine: { type: machine },
      ...(mode !== undefined && { volumeStatus: [{ name: "root", persistentVolumeClaimInfo: claim }] }),
    },
  };
  const virtController = stage.client.as(VIRT_CONTROLLER);
  await virtController.patch(kubevirt.virtualMachineInstances, { namespace: NAMESPACE, name }, { type: "merge", body });
  if (!kind.isOld) return;
  const { metadata } = await launcherOf(stage.client, name);
  const containers = [{ name: "compute", image: OLD }];
  await stage.client.patch(pods, metadata, { type: "strategic", body: { spec: { containers } } });
  await untilVmi(stage.client, name, "outdated", (vmi) => vmi.metadata.labels?.[LABEL.outdatedLauncher] !== undefined);
}
