/**
 * Simulates how KubeVirt's controllers migrate one VM, step by step. The controllers migrate a VM with an
 * evacuationNodeName, and the VM moves when the migration succeeds.
 */
import type { MigrationFacts, NamespacedName } from "../../../shared/kube/facts.ts";
import { migration, pod } from "../fixtures.ts";
import type { FakeCluster } from "../cluster.ts";
import { isFinal } from "../../../shared/kube/objects.ts";

export interface Moves {
  /** The outcomes of the first migrations, in order. Later migrations succeed. */
  readonly outcomes: readonly ("Succeeded" | "Failed")[];
  /** True if KubeVirt migrates a VM with an evacuationNodeName. */
  readonly evacuates: boolean;
  readonly isFull?: boolean;
}

export const TARGET = { name: "virt-launcher-web-target", uid: "target-pod", nodeName: "node02" };
const BACKOFF_MS = 20_000;

export class KubeVirt {
  readonly #fake: FakeCluster;
  readonly #vm: NamespacedName;
  readonly #moves: Moves;
  #ended = 0;
  #failedAt = -Infinity;

  constructor(fake: FakeCluster, vm: NamespacedName, moves: Moves) {
    this.#fake = fake;
    this.#vm = vm;
    this.#moves = moves;
  }

  step(now: Date): void {
    const { migrations, vmis } = this.#fake;
    const vmi = vmis.get(this.#vm);
    if (vmi === undefined || isFinal(vmi)) return;
    const active = migrations.list((m) => m.vmiName === vmi.name && !isFinal(m))[0];
    if (active !== undefined) return this.#advance(active, now);
    const isDue = this.#moves.evacuates && now.getTime() >= this.#failedAt + BACKOFF_MS;
    if (!isDue || vmi.evacuationNodeName === undefined || vmi.evacuationNodeName !== vmi.nodeName) return;
    const name = `kubevirt-evacuation-${this.#fake.api.nextVersion()}`;
    const createdAt = now.getTime();
    migrations.put(
      migration({ name, uid: name, phase: "Pending", evacuates: vmi.nodeName, automatic: true, createdAt }),
    );
  }

  #advance(active: MigrationFacts, now: Date): void {
    const { migrations } = this.#fake;
    const next = { Pending: "Scheduling", Scheduling: "Running" }[active.phase];
    if (next === "Scheduling" && this.#moves.isFull === true) return;
    const resourceVersion = this.#fake.api.nextVersion();
    if (next !== undefined) return migrations.put({ ...active, phase: next, targetNode: "node02", resourceVersion });
    const outcome = this.#moves.outcomes[this.#ended] ?? "Succeeded";
    this.#ended += 1;
    if (outcome === "Failed") {
      this.#failedAt = now.getTime();
      return migrations.put({ ...active, phase: outcome, failedAt: now.getTime(), resourceVersion });
    }
    migrations.put({ ...active, phase: outcome, resourceVersion });
    this.#land();
  }

  /** Moves the guest to the target pod, stops the source pod, and removes evacuationNodeName. */
  #land(): void {
    const { pods } = this.#fake;
    for (const source of pods.list()) pods.put({ ...source, phase: "Succeeded", ready: false });
    pods.put(pod(TARGET));
    this.#fake.change(this.#vm, { nodeName: TARGET.nodeName, activePods: { [TARGET.uid]: TARGET.nodeName } });
    this.#fake.setMark(this.#vm, undefined);
  }
}
