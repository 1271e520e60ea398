/**
 * Checks whether VMs are known to migrate with KubeVirt's current launcher image. A migration of one VM is evidence for
 * all VMs with the same launcher image, machine type, CPU, kind of storage and architecture.
 */
import { isFinal, keyOf } from "../kube/objects.ts";
import { canMigrate } from "../settings/strategy.ts";
import {
  type Attempt,
  attemptsOf,
  type ClassKey,
  classKeyOf,
  type PlanHistory,
  historyFrom,
  vmOfLauncher,
} from "./attempts.ts";
import type { PlanFacts, PlanVmi } from "./facts.ts";

export type Proof = "Proven" | "Unproven" | "Failing";

export interface VmClass extends ClassKey {
  readonly proof: Proof;
  readonly vms: readonly string[];
  /**
   * A VM that should migrate first, to show that VMs of this class can migrate. Absent if the class is not Unproven, or
   * if no VM of the class runs.
   */
  readonly canary?: string;
  /**
   * The number of failed attempts in a row, and the VM and reason of the last attempt. Absent if the last attempt did
   * not fail.
   */
  readonly failed?: { readonly times: number; readonly vm: string; readonly reason: string };
}

export interface Evidence {
  /** The launcher image for new pods. Undefined if no pod has this image yet. */
  readonly launcher?: string;
  readonly classes: readonly VmClass[];
}

export function evidenceOf(f: PlanFacts): Evidence {
  const history = historyFrom(f);
  const launcher = launcherNow(history);
  const members = [...history.presentOf].flatMap(([vm, { image = "" }]) => {
    const vmi = history.vmiOf.get(vm);
    if (vmi === undefined || isFinal(vmi) || !canMigrate(vmi, f.settings)) return [];
    return [{ vmi, key: classKeyOf(vmi, image, history) }];
  });
  const attempts = Map.groupBy(attemptsOf(history, launcher), ({ key }) => classText(key));
  const classes = [...Map.groupBy(members, ({ key }) => classText(key))].flatMap(([text, own]): readonly VmClass[] => {
    const [first] = own;
    return first === undefined
      ? []
      : [
          classOf(
            first.key,
            own.map(({ vmi }) => vmi),
            attempts.get(text) ?? [],
          ),
        ];
  });
  return { ...(launcher !== undefined && { launcher }), classes: classes.toSorted(mostFirst) };
}

/**
 * Returns the launcher image that KubeVirt uses for new pods. It is the image of the newest pod whose VMI is not
 * labelled as outdated. Returns undefined if no pod has this image yet.
 */
function launcherNow({ podOf, vmiOf }: PlanHistory): string | undefined {
  const newestFirst = [...podOf.values()].toSorted((a, b) => b.createdAt - a.createdAt);
  return newestFirst.find((pod) => vmiOf.get(vmOfLauncher(pod))?.isOutdated !== true)?.image;
}

function mostFirst(a: VmClass, b: VmClass): number {
  return b.vms.length - a.vms.length || (classText(a) < classText(b) ? -1 : 1);
}

export function classText({ launcher, machine, cpu, storage, architecture }: ClassKey): string {
  return [launcher, machine, cpu, storage, architecture].join("|");
}

function classOf(key: ClassKey, vmis: readonly PlanVmi[], attempts: readonly Attempt[]): VmClass {
  const vms = vmis.map(keyOf).toSorted();
  const tried = attempts.filter(({ outcome }) => outcome !== "FindsNoPlace");
  const lastProof = tried.findLastIndex(({ outcome }) => outcome === "Proves");
  const since = tried.slice(lastProof + 1);
  const last = since.at(-1);
  if (last !== undefined) {
    const { vm, reason = "" } = last;
    return { ...key, vms, proof: "Failing", failed: { times: since.length, vm, reason } };
  }
  if (lastProof >= 0) return { ...key, vms, proof: "Proven" };
  const canary = canaryOf(vmis, attempts);
  return { ...key, vms, proof: "Unproven", ...(canary && { canary: keyOf(canary) }) };
}

/**
 * Returns the running VM that should migrate first. VMs with a target pod that fitted on no node come last. Prefers VMs
 * that their owners offer for this purpose, then small VMs.
 */
function canaryOf(vmis: readonly PlanVmi[], attempts: readonly Attempt[]): PlanVmi | undefined {
  const homeless = new Set(attempts.map(({ vm }) => vm));
  const rank = (vmi: PlanVmi) => [
    Number(homeless.has(keyOf(vmi))),
    Number(vmi.isCanary !== true),
    vmi.guestMemory ?? 0,
  ];
  const before = (a: PlanVmi, b: PlanVmi) => {
    const [x, y] = [rank(a), rank(b)];
    const difference = x.map((value, at) => value - (y[at] ?? 0)).find((one) => one !== 0);
    return difference ?? (keyOf(a) < keyOf(b) ? -1 : 1);
  };
  return vmis
    .filter(({ phase, pausedByIoError }) => phase === "Running" && pausedByIoError !== true)
    .toSorted(before)[0];
}
