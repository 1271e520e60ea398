/**
 * Recognizes pods, VMIs and nodes, and matches labels and nodes with selectors. Upstream: KubeVirt's pod eviction
 * admitter; core/v1; apimachinery `LabelSelectorAsSelector`, component-helpers `nodeaffinity`.
 */
import type {
  LabelSelector,
  LabelSelectorRequirement,
  NamespacedName,
  NodeFacts,
  OwnerReference,
  PodFacts,
  Taint,
  Toleration,
  VmiFacts,
} from "./facts.ts";
import {
  COMPONENT_LABEL,
  CREATED_BY_LABEL,
  DOMAIN_ANNOTATION,
  HOTPLUG_COMPONENT,
  LAUNCHER_COMPONENT,
} from "./names.ts";
import { isObjectName } from "./schemas/fields.ts";
import type { Labels, NodeRequirement, NodeSelectorTerm, NodeRequirements } from "./scheduled-pod.ts";
import { tolerates } from "./tolerations.ts";

/** Returns whether a VMI, a migration or a pod has finished. Upstream: KubeVirt's `IsFinal`. */
export const isFinal = ({ phase }: { readonly phase: string }): boolean => phase === "Succeeded" || phase === "Failed";

export function named(name: string): NamespacedName {
  return { namespace: "", name };
}

export function keyOf(object: NamespacedName): string {
  return `${object.namespace}/${object.name}`;
}

/** Returns whether an object with this key can exist. A name such as `..` would change the path of a URL. */
export function isObjectKey({ namespace, name }: NamespacedName): boolean {
  return isObjectName(name) && (namespace === "" || isObjectName(namespace));
}

/** Returns whether a namespaced object with this key can exist. */
export function isVmiKey(key: NamespacedName): boolean {
  return key.namespace !== "" && isObjectKey(key);
}

export function isLauncher(pod: PodFacts): boolean {
  return pod.labels[COMPONENT_LABEL] === LAUNCHER_COMPONENT && !isFinal(pod);
}

export function launcherOfHotplug(pod: PodFacts): OwnerReference | undefined {
  return pod.labels[COMPONENT_LABEL] === HOTPLUG_COMPONENT && pod.owners.length === 1 ? pod.owners[0] : undefined;
}

export function vmiNameOf(launcher: PodFacts): string | undefined {
  return launcher.annotations[DOMAIN_ANNOTATION] || undefined;
}

/**
 * Returns why the deletion of this pod cannot stop a guest. Returns undefined if the deletion can stop a guest. Does
 * not check the VMI's phase.
 */
export function unprotectedReason(pod: PodFacts, launcher: PodFacts | undefined, vmi: VmiFacts | undefined) {
  if (isFinal(pod)) return "PodCompleted";
  const owner = launcherOfHotplug(pod);
  const subject = owner === undefined ? pod : launcher;
  if (subject?.uid !== (owner ?? pod).uid) return "VmiGone";
  if (!isLauncher(subject) || vmiNameOf(subject) === undefined) return "NotAVirtualMachine";
  return belongsTo(subject, vmi) ? undefined : "VmiGone";
}

function belongsTo(launcher: PodFacts, vmi: VmiFacts | undefined): boolean {
  const owner = launcher.owners.find((o) => o.kind === "VirtualMachineInstance");
  const uid = owner?.uid ?? launcher.labels[CREATED_BY_LABEL] ?? vmi?.uid;
  return vmi !== undefined && vmiNameOf(launcher) === vmi.name && uid === vmi.uid;
}

/**
 * Returns true if the VMI waits for a guest from another VMI, if the pod is on another node than the VMI, or if the
 * VMI's `status.activePods` contains other pods but not this pod.
 */
export function isMigrationTarget(pod: Pick<PodFacts, "uid" | "nodeName">, vmi: VmiFacts): boolean {
  if (isBeingReceived(vmi)) return true;
  if (vmi.nodeName === undefined) return false;
  const listed = Object.keys(vmi.activePods);
  return pod.nodeName !== vmi.nodeName || (listed.length > 0 && !listed.includes(pod.uid));
}

const BEFORE_RUNNING: readonly string[] = ["", "Pending", "Scheduling", "Scheduled"];

/** Returns whether the VMI waits for a guest from another VMI. Upstream: `IsMigrationTarget`, `IsWaitingForSync`. */
export function isBeingReceived({ phase, decentralized }: VmiFacts): boolean {
  return phase === "WaitingForSync" || (decentralized === "Receives" && BEFORE_RUNNING.includes(phase));
}

/**
 * Returns whether the VMI's `status.activePods` contains the pod. Only KubeVirt writes this field. A pod's labels and
 * owners prove nothing, because the pod's creator can write any labels and owners.
 */
export function isListedBy(vmi: VmiFacts, { namespace, uid }: PodFacts): boolean {
  return vmi.namespace === namespace && Object.hasOwn(vmi.activePods, uid);
}

export function isOfLiveVm(pod: PodFacts): boolean {
  return !isFinal(pod) && isOfVm(pod);
}

/** Returns whether the pod is a launcher pod or a hotplug pod. */
export function isOfVm(pod: PodFacts): boolean {
  return pod.labels[COMPONENT_LABEL] === LAUNCHER_COMPONENT || launcherOfHotplug(pod) !== undefined;
}

export function untolerated(taints: readonly Taint[], tolerations: readonly Toleration[] = []): Taint | undefined {
  return taints.find((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
}

export const DEAD_NODE_TAINTS: readonly string[] = [
  "node.kubernetes.io/not-ready",
  "node.kubernetes.io/unreachable",
  "node.kubernetes.io/out-of-service",
];

/** Returns whether the node is alive. Lifeboat must not delay the failover of VMs on a dead node. */
export function isAlive(node: NodeFacts | undefined): boolean {
  return node !== undefined && node.ready && !node.taints.some((taint) => DEAD_NODE_TAINTS.includes(taint.key));
}

/** Returns the NoExecute taints that the pod does not tolerate permanently, except the taints of a dead node. */
export function drivingTaints(node: NodeFacts | undefined, { tolerations = [] }: PodFacts): readonly Taint[] {
  const forGood = tolerations.filter(({ tolerationSeconds }) => tolerationSeconds === undefined);
  const driving = node?.taints.filter(({ key, effect }) => effect === "NoExecute" && !DEAD_NODE_TAINTS.includes(key));
  return (driving ?? []).filter((taint) => untolerated([taint], forGood) !== undefined);
}

export function drivingTaint(node: NodeFacts | undefined, pod: PodFacts): Taint | undefined {
  return drivingTaints(node, pod)[0];
}

/** Returns how many seconds the pod tolerates the taint, or Infinity for no limit. */
export function toleratedSeconds(taint: Taint, { tolerations = [] }: PodFacts): number {
  const toleration = tolerations.find((one) => tolerates(one, taint));
  return toleration === undefined ? 0 : Math.max(0, toleration.tolerationSeconds ?? Infinity);
}

/** The time for which virt-handler may be absent, for example during an update of its DaemonSet. */
const HANDLER_AWAY_MS = 60_000;
/** Heartbeats are up to 132 s apart. Upstream: kubevirt `pkg/virt-handler/heartbeat/heartbeat.go`. */
const HANDLER_SILENT_MS = 180_000;

/** Returns whether virt-handler has been absent for too long. Returns false if there was never a heartbeat. */
export function isHandlerMissing({ virtHandler }: NodeFacts, now: Date): boolean {
  const silentMs = now.getTime() - Date.parse(virtHandler?.saidAt ?? "");
  return silentMs >= (virtHandler?.isSchedulable === true ? HANDLER_SILENT_MS : HANDLER_AWAY_MS);
}

/** Returns whether the node has KubeVirt's drain taint with the effect NoSchedule. */
export function carriesDrainTaint(
  { taints }: Pick<NodeFacts, "taints">,
  { drainTaintKey }: { readonly drainTaintKey: string },
): boolean {
  return taints.some((taint) => taint.key === drainTaintKey && taint.effect === "NoSchedule");
}

const LONGEST_NAME = 63;

/** Returns `<prefix><shortened VMI name>-<suffix>`, a valid object name of at most 63 characters. */
export function derivedName(prefix: string, vmiName: string, suffix: string): string {
  const room = LONGEST_NAME - `${prefix}-${suffix}`.length;
  return `${prefix}${vmiName.slice(0, room).replace(/[-.]+$/, "")}-${suffix}`;
}

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** Hashes a text with FNV-1a to eight hexadecimal digits. The hash is not secure. */
export function hash8(text: string): string {
  let hash = OFFSET_BASIS;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** Returns an own property. An inherited property must not be returned, because `constructor` is a valid label key. */
export function ownValue<T>(object: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Returns whether a selector matches. An empty selector matches all labels, and an absent selector matches none. */
export function matches(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (selector === undefined) return false;
  const { matchLabels, matchExpressions } = selector;
  for (const key in matchLabels) if (ownValue(labels, key) !== matchLabels[key]) return false;
  return matchExpressions.every((requirement) => meets(requirement, labels));
}

export function meets({ key, operator, values }: LabelSelectorRequirement, labels: Labels): boolean {
  const value = ownValue(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}

interface Node {
  readonly name: string;
  readonly labels: Labels;
}

export function isWanted({ nodeSelector, required }: NodeRequirements, node: Node): boolean {
  for (const key in nodeSelector) if (ownValue(node.labels, key) !== nodeSelector[key]) return false;
  return required === undefined || required.some((term) => matchesTerm(term, node));
}

/** Returns whether a term matches the node. A term without requirements matches nothing. */
export function matchesTerm({ matchExpressions, matchFields }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meetsExpression(requirement, node.labels)) &&
    matchFields.every((requirement) => meetsField(requirement, node.name))
  );
}

function meetsExpression(requirement: NodeRequirement, labels: Labels): boolean {
  const { key, operator, values } = requirement;
  if (operator !== "Gt" && operator !== "Lt") return meets(requirement, labels);
  const actual = integer(ownValue(labels, key));
  const bound = integer(values.length === 1 ? values[0] : undefined);
  if (actual === undefined || bound === undefined) return false;
  return operator === "Gt" ? actual > bound : actual < bound;
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text) : undefined;
}

function meetsField({ key, operator, values }: NodeRequirement, name: string): boolean {
  if (key !== "metadata.name") return false;
  return (operator === "In" && values.includes(name)) || (operator === "NotIn" && !values.includes(name));
}
