/** Simulates a node whose VMs change over time, and the status that Lifeboat writes meanwhile. */
import type { EvacuationFacts } from "../../../shared/kube/evacuation.ts";
import type { VmiFacts } from "../../../shared/kube/facts.ts";
import { hasEnded, type NodeEvacuationFacts, type Outcome } from "../../../shared/kube/node-evacuation.ts";
import { guestPodUID } from "../../../shared/evacuation/identity.ts";
import { nextOfNode } from "../../../shared/maintenance/rules.ts";
import { nodeStatusAfter } from "../../../shared/maintenance/status.ts";
import { keyOf } from "../../../shared/kube/objects.ts";
import { OddList } from "../facts.ts";
import { at, pod } from "../fixtures.ts";
import { vmiOf } from "../preflight/fixtures.ts";
import { nodeWorld, own, started } from "./worlds.ts";

function whereabouts({ vmi, place }: Vm) {
  const shown: Readonly<Record<Vm["place"], VmiFacts | undefined>> = {
    Here: vmi,
    Elsewhere: { ...vmi, nodeName: "node02" },
    Again: { ...vmi, uid: `${vmi.uid}-again`, nodeName: "node02" },
    Off: undefined,
  };
  return [`virtualmachineinstances ${keyOf(vmi)}`, shown[place]] as const;
}

function evacuationsOf({ vmi: { name }, evacuation }: Vm) {
  const found = evacuation === undefined ? [] : [evacuation];
  return [`evacuations in apps where spec.virtualMachineInstance.name=${name}`, found] as const;
}

const OWN_EVACUATIONS = "evacuations where spec.nodeEvacuation.name=kernel";

const podsOf = ({ vmi }: Vm) =>
  [`pods in apps where kubevirt.io/created-by=${vmi.uid}`, [pod({ uid: guestPodUID(vmi) ?? "" })]] as const;

export interface Vm {
  readonly vmi: VmiFacts;
  place: "Here" | "Elsewhere" | "Again" | "Off";
  evacuation?: EvacuationFacts;
  /** True if the VM was migrating when Lifeboat last saw it. A migrating VM is never shut down by an eviction. */
  wasMoving?: boolean;
  expected?: Outcome;
}

/** Simulates a node, its VMs, and their changes. Lifeboat observes the node from time to time. */
export class History {
  readonly vms: Vm[] = [];
  readonly seen = new Set<string>();
  ne: NodeEvacuationFacts = started({ spec: { forceShutdowns: true } });
  seconds = 0;
  /** True while Lifeboat cannot parse the Evacuations of the NodeEvacuation. */
  isUnread = false;

  arrive(isEndedByStrategy: boolean): void {
    const name = `vm-${this.vms.length}`;
    const vmi = vmiOf(name, isEndedByStrategy ? { evictionStrategy: "None" } : {});
    this.vms.push({ vmi, place: "Here" });
  }

  /**
   * Creates an Evacuation of the VM that belongs to this NodeEvacuation. `phase` decides whether the Evacuation has
   * ended.
   */
  evacuate(vm: Vm, phase: string, place: Vm["place"], expected: Outcome): void {
    const status = { phase, virtualMachineInstanceUID: vm.vmi.uid, completionTime: at(this.seconds).toISOString() };
    vm.evacuation = own(vm.vmi.name, { status });
    vm.place = place;
    vm.expected = expected;
  }

  look(): void {
    this.seconds += 9;
    const here = this.vms.filter(({ place }) => place === "Here").map(({ vmi }) => vmi);
    if (!hasEnded(this.ne)) for (const { uid } of here) this.seen.add(uid);
    for (const vm of this.vms) vm.wasMoving = vm.place === "Here" && vm.evacuation?.status.phase === "Migrating";
    const world = nodeWorld({
      ne: this.ne,
      vmis: here,
      evacuations: this.vms.flatMap(({ evacuation }) => evacuation ?? []),
      now: at(this.seconds),
      vms: Object.fromEntries(this.vms.map(({ vmi }) => [keyOf(vmi), {}])),
      more: {
        ...Object.fromEntries(this.vms.flatMap((vm) => [whereabouts(vm), evacuationsOf(vm), podsOf(vm)])),
        ...(this.isUnread && { [OWN_EVACUATIONS]: new OddList([], "apps/vm-0-1: spec.x: too large") }),
      },
    });
    const next = nextOfNode(world);
    if (next === "Nothing") return;
    const status = nodeStatusAfter(this.ne, next, at(this.seconds));
    if (status !== undefined) this.ne = { ...this.ne, status };
  }

  end(): void {
    this.ne = { ...this.ne, spec: { ...this.ne.spec, intent: "Withdrawn" } };
    for (const vm of this.vms) {
      const { phase } = vm.evacuation?.status ?? {};
      const isOpen = vm.place === "Here" && phase !== "Abandoned" && phase !== "Migrating";
      if (isOpen) this.evacuate(vm, "Withdrawn", "Here", "LeftBehind");
    }
  }
}
