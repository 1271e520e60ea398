/**
 * Whether VMs like this one have migrated to KubeVirt's present launcher. A migration of one VM is evidence for all VMs
 * of its class: the same launcher image, machine type, CPU, kind of storage and architecture.
 */
import { isFinal, isLauncher, keyOf, ownValue, vmiNameOf } from "../kube/objects.ts";
import { canMigrate } from "../settings/strategy.ts";
import { HOST_CPU, HOST_MODEL } from "../preflight/host-cpu.ts";
import type { PlanFacts, PlanMigration, PlanPod, PlanVmi } from "./facts.ts";

export type Proof = "Proven" | "Unproven" | "Failing";

export interface VmClass {
  readonly launcher: string;
  readonly machine: string;
  readonly cpu: string;
  readonly storage: string;
  readonly architecture: string;
  readonly proof: Proof;
  /** `namespace/name` of each VM. */
  readonly vms: readonly string[];
  /** One VM whose migration would prove the class. */
  readonly canary?: string;
  /** For a failing class: how many of the newest migrations failed, and why the last one did. */
  readonly failed?: { readonly times: number; readonly vm: string; readonly reason: string };
}

export interface Evidence {
  /** The launcher that the next pods get. Undefined: no pod has it yet, and no migration has proven anything. */
  readonly launcher?: string;
  readonly classes: readonly VmClass[];
}

type Kind = Pick<VmClass, "launcher" | "machine" | "cpu" | "storage" | "architecture">;

interface Known {
  readonly podOf: ReadonlyMap<string, PlanPod>;
  readonly vmiOf: ReadonlyMap<string, PlanVmi>;
  readonly f: PlanFacts;
}

export function evidenceOf(f: PlanFacts): Evidence {
  const launchers = f.pods.filter(({ image }) => image !== undefined);
  const known: Known = {
    podOf: new Map(launchers.map((pod) => [keyOf(pod), pod])),
    vmiOf: new Map(f.vmis.map((vmi) => [keyOf(vmi), vmi])),
    f,
  };
  const launcher = launcherNow(launchers, known);
  const current = f.pods.filter((pod) => isLauncher(pod) && isCurrent(pod, known));
  const members = current.flatMap((pod) => {
    const vmi = known.vmiOf.get(vmOf(pod));
    if (vmi === undefined || isFinal(vmi) || !canMigrate(vmi, f.settings)) return [];
    return [{ vmi, kind: kindOf(vmi, pod.image, pod.nodeName, f) }];
  });
  const attempts = Map.groupBy(attemptsOf(known, launcher), ({ kind }) => textOf(kind));
  const classes = [...Map.groupBy(members, ({ kind }) => textOf(kind))].flatMap(([text, own]): readonly VmClass[] => {
    const [first] = own;
    return first === undefined
      ? []
      : [
          classOf(
            first.kind,
            own.map(({ vmi }) => vmi),
            attempts.get(text) ?? [],
          ),
        ];
  });
  return { ...(launcher !== undefined && { launcher }), classes: classes.toSorted(mostFirst) };
}

/**
 * Returns the image of the newest pod: KubeVirt creates every pod with the image that it uses now. After an update of KubeVirt no pod may have that
 * image yet. KubeVirt labels the VMIs whose pods are outdated.
 */
function launcherNow(launchers: readonly PlanPod[], { vmiOf }: Known): string | undefined {
  const newestFirst = launchers.toSorted((a, b) => b.createdAt - a.createdAt);
  return newestFirst.find((pod) => vmiOf.get(vmOf(pod))?.isOutdated !== true)?.image;
}

function mostFirst(a: VmClass, b: VmClass): number {
  return b.vms.length - a.vms.length || (textOf(a) < textOf(b) ? -1 : 1);
}

function vmOf(pod: PlanPod): string {
  return keyOf({ ...pod, name: vmiNameOf(pod) ?? "" });
}

/** Returns whether the guest runs in the pod: the target of a migration does not count. */
function isCurrent(pod: PlanPod, { vmiOf }: Known): boolean {
  return vmiOf.get(vmOf(pod))?.nodeName === pod.nodeName;
}

function kindOf({ kind }: PlanVmi, image: string | undefined, node: string | undefined, { nodes }: PlanFacts): Kind {
  const { machine, architecture, cpuModel, storage } = kind;
  const isHost = cpuModel === HOST_MODEL || cpuModel === "";
  const labels = nodes.find(({ name }) => name === node)?.labels ?? {};
  const model = Object.keys(labels).find((key) => key.startsWith(HOST_CPU) && ownValue(labels, key) === "true");
  const cpu = isHost ? `host-model ${model?.slice(HOST_CPU.length) ?? "unknown"}` : cpuModel;
  return { launcher: image ?? "", machine, cpu, storage, architecture };
}

function textOf({ launcher, machine, cpu, storage, architecture }: Kind): string {
  return [launcher, machine, cpu, storage, architecture].join("|");
}

interface Attempt {
  readonly kind: Kind;
  readonly migration: PlanMigration;
  readonly vm: string;
  readonly outcome: "Proves" | "Fails";
}

/** Returns finished migrations with a known source, the oldest first. */
function attemptsOf(known: Known, launcher: string | undefined): readonly Attempt[] {
  return known.f.migrations
    .filter(isFinal)
    .toSorted((a, b) => a.createdAt - b.createdAt)
    .flatMap((migration): readonly Attempt[] => {
      const vm = keyOf({ ...migration, name: migration.vmiName });
      const vmi = known.vmiOf.get(vm);
      const source = vmi && sourceOf(migration, vmi, known);
      if (vmi === undefined || source?.image === undefined) return [];
      const kind = kindOf(vmi, source.image, source.nodeName, known.f);
      if (migration.phase === "Failed") return hasRun(migration) ? [{ kind, migration, vm, outcome: "Fails" }] : [];
      const target = podNamed(migration, migration.targetPod, known);
      return launcher !== undefined && target?.image === launcher ? [{ kind, migration, vm, outcome: "Proves" }] : [];
    });
}

function podNamed({ namespace }: PlanMigration, name: string | undefined, { podOf }: Known): PlanPod | undefined {
  return name === undefined ? undefined : podOf.get(keyOf({ namespace, name }));
}

/**
 * Returns the source pod of a migration. For a failed migration that is the VM's present pod, unless the VM has moved
 * since.
 */
function sourceOf(migration: PlanMigration, vmi: PlanVmi, known: Known): PlanPod | undefined {
  const named = podNamed(migration, migration.sourcePod, known);
  if (named !== undefined || migration.phase !== "Failed") return named;
  const isStill = vmi.movedAt === undefined || vmi.movedAt < migration.createdAt;
  return isStill
    ? known.f.pods.find((pod) => isLauncher(pod) && vmOf(pod) === keyOf(vmi) && isCurrent(pod, known))
    : undefined;
}

/**
 * Returns whether the migration ran. Without a target node it was withdrawn, or its pod found no place, which says
 * nothing about its VM.
 */
function hasRun({ targetNode, failureReason }: PlanMigration): boolean {
  return targetNode !== undefined || failureReason !== undefined;
}

function classOf(kind: Kind, vmis: readonly PlanVmi[], attempts: readonly Attempt[]): VmClass {
  const vms = vmis.map(keyOf).toSorted();
  const lastProof = attempts.findLastIndex(({ outcome }) => outcome === "Proves");
  const since = attempts.slice(lastProof + 1);
  const last = since.at(-1);
  if (last !== undefined) {
    const reason = last.migration.failureReason ?? "it does not say why";
    return { ...kind, vms, proof: "Failing", failed: { times: since.length, vm: last.vm, reason } };
  }
  if (lastProof >= 0) return { ...kind, vms, proof: "Proven" };
  const canary = vmis.toSorted(canaryFirst)[0];
  return { ...kind, vms, proof: "Unproven", ...(canary && { canary: keyOf(canary) }) };
}

function canaryFirst(a: PlanVmi, b: PlanVmi): number {
  return (
    Number(b.isCanary === true) - Number(a.isCanary === true) ||
    (a.guestMemory ?? 0) - (b.guestMemory ?? 0) ||
    (keyOf(a) < keyOf(b) ? -1 : 1)
  );
}
