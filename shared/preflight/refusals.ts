/**
 * Finds refusals of the API server during a drain. A PodDisruptionBudget can refuse an eviction, and a quota can refuse
 * the target pod of a migration.
 */
import { budgetOf } from "../budget/refusal.ts";
import type { PodFacts } from "../kube/facts.ts";
import { isFinal, isOfLiveVm, launcherOfHotplug, vmiNameOf } from "../kube/objects.ts";
import { FIRST_REQUEST, mobilityOf } from "../eviction/table.ts";
import { strategyOf } from "../settings/strategy.ts";
import type { PreflightFacts, PreflightPod, QuotaFacts, RoomFound } from "./facts.ts";
import type { FitNode } from "./fit.ts";
import { PREFLIGHT_MESSAGES as MESSAGES } from "./messages.ts";
import { asItIs, placeInTurn } from "./place.ts";
import { raisedBy } from "./quota-controllers.ts";

/** The PodDisruptionBudget that keeps a pod on the node until a person acts. */
export interface HeldByBudget {
  readonly budget: string;
  /**
   * The PodDisruptionBudget allows the eviction of this pod only when the replacement of an evicted pod runs. Says why
   * the replacement fits on no node. Absent if no controller creates a replacement.
   */
  readonly room?: RoomFound;
}

interface Replacing {
  readonly held: ReadonlyMap<string, HeldByBudget>;
  /**
   * Pods of PodDisruptionBudgets that do not allow all evictions at once. Their replacements must fit on other nodes.
   */
  readonly replaced: readonly PreflightPod[];
}

/**
 * Finds pods that their PodDisruptionBudgets keep on the node. Once the allowed disruptions of a PodDisruptionBudget
 * are used up, each further eviction waits until the replacement of an evicted pod runs. Replacements of pods without a
 * PodDisruptionBudget also use resources.
 */
export function heldByBudgets(evicted: readonly PreflightPod[], f: PreflightFacts): Replacing {
  const groups = [...Map.groupBy(evicted, (pod) => budgetOf(pod, f.budgets))].flatMap(([budget, pods]) => {
    const allowed = budget?.status.disruptionsAllowed ?? pods.length;
    return budget !== undefined && pods.length > allowed ? [{ budget: budget.name, allowed, pods }] : [];
  });
  if (groups.length === 0) return { held: new Map(), replaced: [] };
  const made = evicted.filter(({ owners }) => owners.some(({ controller }) => controller));
  const rooms = placeInTurn(made.map(asItIs), f, { gone: evicted });
  const held = groups.flatMap(({ budget, allowed, pods }) => {
    let left = allowed;
    let homeless: RoomFound | undefined;
    const stuck = pods.filter(({ uid }) => {
      if (left <= 0) return true;
      const room = rooms.get(uid);
      if (room?.fits === false) homeless = room;
      if (room?.fits !== true) left -= 1;
      return false;
    });
    return stuck.map(({ uid }) => [uid, heldBy(budget, homeless)] as const);
  });
  return { held: new Map(held), replaced: groups.flatMap(({ pods }) => pods) };
}

function heldBy(budget: string, room: RoomFound | undefined): HeldByBudget {
  if (room === undefined) return { budget };
  return { budget, room: { ...room, message: MESSAGES.replacementWaits(budget, room.message) } };
}

interface QuotaFinding {
  readonly refusal?: string;
  readonly unknown: readonly string[];
}

type World = Pick<
  PreflightFacts,
  "node" | "otherNodes" | "quotas" | "pods" | "vmis" | "migrations" | "migratingElsewhere" | "settings"
>;

/**
 * Checks whether a quota refuses the target pod of a migration. The source pod uses quota until it has ended. Upstream:
 * `PodUsageFunc` of kube-apiserver (pkg/quota/v1/evaluator/core/pods.go), `CheckRequest` of its admission plugin.
 */
export function quotaFinding(pod: PreflightPod, w: World): QuotaFinding {
  const isHere = ({ namespace }: { readonly namespace: string }) => namespace === pod.namespace;
  const quotas = w.quotas.filter((one) => isHere(one) && !one.scopes.some((scope) => FOR_OTHERS.includes(scope)));
  const targeted = w.migrations.filter((m) => isHere(m) && !isFinal(m) && m.targetPod !== undefined);
  if (quotas.length === 0 || targeted.some(({ vmiName }) => vmiName === vmiNameOf(pod))) return { unknown: [] };
  const hotplug = w.pods.filter((one) => isHere(one) && launcherOfHotplug(one)?.uid === pod.uid);
  const added = usageOf([pod, ...hotplug]);
  const isMoving =
    targeted.length > 0 || [...w.vmis, ...w.migratingElsewhere].some((vmi) => isHere(vmi) && vmi.isMigrating);
  const isEnding = w.pods.some((one) => isHere(one) && one !== pod && isEnded(one, w));
  const why = isMoving ? MESSAGES.quotaVmsMove : isEnding ? MESSAGES.quotaPodsEnd : undefined;
  const nodes = [w.node, ...w.otherNodes];
  const found = quotas.map((quota) => judged(quota, added, { why, nodes }));
  const [refusal] = found.flatMap((one) => one.refusal ?? []);
  return { ...(refusal !== undefined && { refusal }), unknown: found.flatMap((one) => one.unknown) };
}

function isEnded(pod: PodFacts, { vmis, settings }: World): boolean {
  if (!isOfLiveVm(pod))
    return !isFinal(pod) && pod.owners.some(({ controller, kind }) => controller && kind !== "DaemonSet");
  const vmi = vmis.find(({ namespace, name }) => namespace === pod.namespace && name === vmiNameOf(pod));
  return vmi !== undefined && ENDING.includes(FIRST_REQUEST[strategyOf(vmi, settings)][mobilityOf(vmi)]);
}

const ENDING: readonly string[] = ["allow", "shutdown"];

/** Every launcher pod matches these quota scopes, because launcher pods have requests and no activeDeadlineSeconds. */
const FOR_ALL_LAUNCHERS: readonly string[] = ["NotTerminating", "NotBestEffort"];
const FOR_OTHERS: readonly string[] = ["Terminating", "BestEffort"];

type Amounts = ReadonlyMap<string, number>;

/**
 * Returns how much of each quota key the pods use. For an extended resource, a quota has only the key `requests.NAME`.
 */
function usageOf(pods: readonly PreflightPod[]): Amounts {
  const usage = new Map<string, number>();
  const add = (name: string, amount: number) => usage.set(name, (usage.get(name) ?? 0) + amount);
  for (const { requests, limits = {} } of pods) {
    for (const name of ["pods", "count/pods"]) add(name, 1);
    for (const [name, amount] of Object.entries(requests)) {
      add(`requests.${name}`, amount);
      if (!name.includes("/")) add(name, amount);
    }
    for (const [name, amount] of Object.entries(limits)) add(`limits.${name}`, amount);
  }
  return usage;
}

interface Around {
  /** The reason why the quota might soon have more room than now. Undefined if there is no known reason. */
  readonly why: string | undefined;
  readonly nodes: readonly FitNode[];
}

function judged(quota: QuotaFacts, added: Amounts, { why, nodes }: Around): QuotaFinding {
  const whether = (text: string) => MESSAGES.whetherQuotaSuffices(quota, text);
  if (!quota.counted) return { unknown: [whether(MESSAGES.quotaNotCounted)] };
  const unsaid = Object.keys(quota.hard).filter((key) => key.startsWith("limits.") && !added.has(key));
  const unknown = unsaid.map((key) => whether(MESSAGES.quotaLimitUnknown(key)));
  const shortages = shortagesOf(quota, added).map((one) => ({
    ...one,
    by: raisedBy(one.resource, quota.marks, nodes),
  }));
  const { by, shortage } = shortages.find((one) => one.by === undefined) ?? shortages[0] ?? {};
  if (shortage === undefined) return { unknown };
  const scope = quota.scopes.find((one) => !FOR_ALL_LAUNCHERS.includes(one));
  const raised = by && MESSAGES.quotaMayBeRaised(by);
  const doubt = scope === undefined ? (why ?? raised) : MESSAGES.quotaScope(scope);
  if (doubt !== undefined) return { unknown: [...unknown, whether(MESSAGES.quotaMayChange(doubt, shortage))] };
  return { refusal: MESSAGES.quotaRefuses(quota, shortage), unknown };
}

function shortagesOf({ hard, used }: QuotaFacts, added: Amounts) {
  return Object.entries(hard).flatMap(([resource, most]) => {
    const [needed, left] = [added.get(resource) ?? 0, Math.max(0, most - (used[resource] ?? 0))];
    const words = (amount: number) => inWords(resourceOf(resource), amount);
    const shortage = MESSAGES.quotaShortage(resource, words(needed), words(left));
    return needed > left ? [{ resource, shortage }] : [];
  });
}

/** Returns the resource of a quota key. For example, the key `requests.memory` belongs to the resource `memory`. */
export function resourceOf(key: string): string {
  return key.replace(/^(requests|limits)\./, "");
}

const MIB = 1024 ** 2;

function inWords(name: string, amount: number): string {
  if (name === "cpu") return `${amount}m`;
  const isBytes = name === "memory" || name === "ephemeral-storage" || name.startsWith("hugepages-");
  return isBytes && amount >= MIB ? `${Math.floor(amount / MIB)}Mi` : String(amount);
}
