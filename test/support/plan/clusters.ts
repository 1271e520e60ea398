/** Creates a cluster for a plan: `cluster({ node01: [vm("web")], node02: [] })`. */
import { PLAIN } from "../../../shared/kube/guest.ts";
import type { PlanFacts, PlanOptions, PlanPod, PlanVmi } from "../../../shared/plan/facts.ts";
import { NOW, settings } from "../fixtures.ts";
import { GIB, launcher, node, plainPod, vmiOf } from "../preflight/fixtures.ts";

export { GIB, node } from "../preflight/fixtures.ts";

export interface Resident {
  readonly pod: PlanPod;
  readonly vmi?: PlanVmi;
}

const CREATED = NOW.getTime() - 86_400_000;
export const IMAGE = "virt-launcher:v1.9.0";

/** Returns a VM with `gib` GiB of memory, and its launcher pod. */
export function vm(name: string, gib = 2, tweak: { pod?: Partial<PlanPod>; vmi?: Partial<PlanVmi> } = {}): Resident {
  const memory = gib * GIB;
  const asks = { ...PLAIN, cpuModel: "host-model", vcpus: 1, guestMemory: memory };
  const kind = { machine: "q35", architecture: "amd64", cpuModel: "host-model", storage: "block/RWX" };
  return {
    pod: {
      ...launcher(name, { requests: { cpu: 100, memory } }),
      createdAt: CREATED,
      image: IMAGE,
      ...tweak.pod,
    },
    vmi: { ...vmiOf(name, { guestMemory: memory, asks, ...tweak.vmi }), kind, ...tweak.vmi },
  };
}

export function ordinary(name: string, gib = 1, tweak: Partial<PlanPod> = {}): Resident {
  return { pod: { ...plainPod(name, { requests: { cpu: 100, memory: gib * GIB } }), createdAt: CREATED, ...tweak } };
}

/** Returns a cluster. Each node has 8 CPUs of the same model and 16 GiB of memory. */
export function cluster(
  residents: Readonly<Record<string, readonly Resident[]>>,
  tweak: Partial<PlanFacts> = {},
): PlanFacts {
  const labels = {
    "host-model-cpu.node.kubevirt.io/Skylake": "true",
    "cpu-model-migration.node.kubevirt.io/Skylake": "true",
  };
  const all = Object.entries(residents);
  const on = (name: string, { pod, vmi }: Resident) => ({
    pod: { ...pod, nodeName: name },
    ...(vmi && { vmi: { ...vmi, nodeName: name, activePods: { [pod.uid]: name } } }),
  });
  const placed = all.flatMap(([name, here]) => here.map((one) => on(name, one)));
  return {
    settings: settings(),
    now: NOW,
    nodes: all.map(([name]) => node(name, { labels })),
    pods: placed.map(({ pod }) => pod),
    vmis: placed.flatMap(({ vmi }) => vmi ?? []),
    vms: new Map(),
    migrations: [],
    evacuations: [],
    budgets: [],
    quotas: [],
    volumes: [],
    unread: [],
    unreadAfterwards: [],
    ...tweak,
  };
}

export function options(f: PlanFacts, tweak: Partial<PlanOptions> = {}): PlanOptions {
  return {
    nodes: f.nodes.map(({ name }) => name),
    order: "given",
    parallel: 1,
    at: NOW,
    template: {
      startIf: "Always",
      virtualMachines: {
        order: "ByPriority",
        whenBlocked: "Wait",
        whenAttemptsFail: "Wait",
        ownersChoice: "Respected",
      },
      forceShutdowns: false,
      otherPods: "Evict",
    },
    ...tweak,
  };
}
