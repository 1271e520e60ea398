/**
 * Whether a ResourceQuota refuses the pods that a migration adds to its namespace: the source pod counts until it has ended. Upstream:
 * `PodUsageFunc` of kube-apiserver (pkg/quota/v1/evaluator/core/pods.go), `CheckRequest` of its admission plugin.
 */
import { isFinal, keyOf } from "../facts.ts";
import { launcherOfHotplug, vmiNameOf } from "../kube/pod-kind.ts";
import type { PreflightFacts, PreflightPod, QuotaFacts } from "./facts.ts";

export interface QuotaFinding {
  /** Absent: none refuses them. */
  readonly refusal?: string;
  /** What cannot be judged. */
  readonly unknown: readonly string[];
}

type World = Pick<PreflightFacts, "quotas" | "pods" | "vmis" | "migrations" | "migratingElsewhere">;

export function quotaFinding(pod: PreflightPod, w: World): QuotaFinding {
  const quotas = w.quotas.filter((one) => one.namespace === pod.namespace && !one.scopes.some(isForOthers));
  if (quotas.length === 0 || hasTarget(pod, w)) return { unknown: [] };
  const added = addedBy(pod, w);
  // What target pods take now they give back when they have arrived.
  const isBusy = isMoving(pod, w);
  const found = quotas.map((quota) => judged(quota, added, isBusy));
  const [refusal] = found.flatMap((one) => one.refusal ?? []);
  return { ...(refusal !== undefined && { refusal }), unknown: found.flatMap((one) => one.unknown) };
}

/** Launcher pods have requests, and no deadline. */
function isForOthers(scope: string): boolean {
  return scope === "Terminating" || scope === "BestEffort";
}

const FOR_ALL_LAUNCHERS: readonly string[] = ["NotTerminating", "NotBestEffort"];

function hasTarget(pod: PreflightPod, { migrations }: World): boolean {
  const own = migrations.filter((m) => m.namespace === pod.namespace && m.vmiName === vmiNameOf(pod));
  return own.some((m) => !isFinal(m) && m.targetPod !== undefined);
}

function isMoving({ namespace }: PreflightPod, { vmis, migrations, migratingElsewhere }: World): boolean {
  const isHere = (one: { readonly namespace: string }) => one.namespace === namespace;
  const handedOver = [...vmis, ...migratingElsewhere].some((vmi) => isHere(vmi) && vmi.isMigrating);
  return handedOver || migrations.some((m) => isHere(m) && !isFinal(m) && m.targetPod !== undefined);
}

type Amounts = ReadonlyMap<string, number>;

/** The target pod, and a new hotplug pod for each that the launcher has. */
function addedBy(pod: PreflightPod, { pods }: World): Amounts {
  const added = new Map<string, number>();
  const hotplug = pods.filter((one) => one.namespace === pod.namespace && launcherOfHotplug(one)?.uid === pod.uid);
  for (const one of [pod, ...hotplug]) {
    for (const [name, amount] of usageOf(one)) added.set(name, (added.get(name) ?? 0) + amount);
  }
  return added;
}

/** Of extended resources only `requests.NAME` is a quota's. */
function usageOf({ requests, limits = {} }: PreflightPod): readonly (readonly [string, number])[] {
  return [
    ["pods", 1],
    ["count/pods", 1],
    ...Object.entries(requests).flatMap(([name, amount]) =>
      name.includes("/")
        ? [[`requests.${name}`, amount] as const]
        : [[name, amount] as const, [`requests.${name}`, amount] as const],
    ),
    ...Object.entries(limits).map(([name, amount]) => [`limits.${name}`, amount] as const),
  ];
}

/** `requests.memory` is about memory. */
export function resourceOf(key: string): string {
  return key.replace(/^(requests|limits)\./, "");
}

function judged(quota: QuotaFacts, added: Amounts, isBusy: boolean): QuotaFinding {
  const whether = (why: string) => `whether ResourceQuota ${keyOf(quota)} leaves enough for a target pod: ${why}`;
  if (!quota.counted) return { unknown: [whether("it has not been counted yet")] };
  // KubeVirt may add a limit to the target pod that the source pod has not.
  const unsaid = Object.keys(quota.hard).filter((key) => key.startsWith("limits.") && !added.has(key));
  const unknown = unsaid.map((key) => whether(`the VM's pod has no ${key}`));
  const shortage = shortageOf(quota, added);
  if (shortage === undefined) return { unknown };
  const scope = quota.scopes.find((one) => !FOR_ALL_LAUNCHERS.includes(one));
  if (scope !== undefined) return { unknown: [...unknown, whether(`scope ${scope}; ${shortage}`)] };
  if (isBusy) return { unknown: [...unknown, whether(`VMs of the namespace move now; ${shortage}`)] };
  return { refusal: `ResourceQuota ${quota.name} refuses its target pod: ${shortage}`, unknown };
}

/** The first of what is too little. */
function shortageOf({ hard, used }: QuotaFacts, added: Amounts): string | undefined {
  for (const [key, most] of Object.entries(hard)) {
    const [needed, left] = [added.get(key) ?? 0, Math.max(0, most - (used[key] ?? 0))];
    const words = (amount: number) => inWords(resourceOf(key), amount);
    if (needed > left) return `${key}: ${words(needed)} needed, ${words(left)} left`;
  }
  return undefined;
}

const MIB = 1024 ** 2;

function inWords(name: string, amount: number): string {
  if (name === "cpu") return `${amount}m`;
  const isBytes = name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return isBytes && amount >= MIB ? `${Math.floor(amount / MIB)}Mi` : String(amount);
}
