/**
 * Predicts the next launcher pod of a VM. KubeVirt renders the target pod of a migration from the VMI and the KubeVirt
 * object. KubeVirt renders the pod of a new start from the template of the VirtualMachine. From the current pod,
 * Lifeboat copies only fields that KubeVirt or admission webhooks have added. If a requirement is uncertain, Lifeboat
 * renders two pods: one with the most requirements and one with the fewest. Upstream: `renderLaunchManifest`,
 * `NodeSelectorRenderer`, `VMIResourcePredicates` (pkg/virt-controller/services); `createTargetPod`,
 * `prepareNodeSelectorForHostCpuModel` of the migration controller.
 */
import type { PodFacts, Toleration, VmiFacts } from "../kube/facts.ts";
import type { GuestAsks, NextStart } from "../kube/guest.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import type {
  Labels,
  NodeSelectorTerm,
  NodeRequirements,
  PodTerm,
  Resources,
  ScheduledNode,
} from "../kube/scheduled-pod.ts";
import type { Rendering, Settings } from "../settings/settings.ts";
import { renderResources } from "./guest-resources.ts";
import { cpuOnMigration, FEATURE, HOST_MODEL, MIGRATION_MODEL, MODEL, VENDOR } from "./host-cpu.ts";

/** The fields of a launcher pod that KubeVirt renders again for each pod. */
export interface LauncherPod extends Pick<PodFacts, "uid" | "namespace" | "labels"> {
  readonly requests: Resources;
  readonly limits?: Resources;
  readonly placement: NodeRequirements;
  readonly tolerations?: readonly Toleration[];
  readonly antiAffinity: readonly PodTerm[];
  readonly unchecked?: readonly string[];
}

export interface NextPod<P extends LauncherPod> {
  readonly pod: P;
  readonly cpu: Labels;
  /** The pod with the fewest requirements, and the fields that differ. Absent if both pods are equal. */
  readonly least?: { readonly pod: P; readonly fields: readonly string[] };
  readonly unknown?: readonly string[];
}

const OBSOLETE_MODEL = "node-labeller.kubevirt.io/obsolete-host-model";
const HOSTNAME = "kubernetes.io/hostname";

type Source = Pick<VmiFacts, "asks" | "currentVcpus" | "currentMemory" | "hotplugs">;

/**
 * Renders the target pod of a migration. `source` is the VM's current node. The caller must exclude
 * the nodes of the VM's other launcher pods as targets.
 */
export function renderTarget<P extends LauncherPod>(
  pod: P,
  vmi: Source,
  source: Pick<ScheduledNode, "name" | "labels"> | undefined,
  { rendering }: Pick<Settings, "rendering">,
): NextPod<P> {
  const next = rendered(pod, { asks: vmi.asks, had: hadOf(vmi), rendering, isOwn: () => true });
  const cpu = source === undefined ? {} : cpuOnMigration(pod.placement, vmi.asks.cpuModel, source);
  return withUnknown({ ...next, cpu }, hotpluggedIn(vmi));
}

function withUnknown<N extends object>(
  next: N,
  unknown: readonly string[],
): N & { readonly unknown?: readonly string[] } {
  return unknown.length === 0 ? next : { ...next, unknown };
}

/** Lists the fields that are being hotplugged and whose current value is missing in the VMI. */
function hotpluggedIn({ asks, currentVcpus, currentMemory, hotplugs = [] }: Source): readonly string[] {
  const fields = {
    HotMemoryChange: isDifferent(currentMemory, asks.guestMemory) ? undefined : "spec.domain.memory",
    HotVCPUChange: isDifferent(currentVcpus, asks.vcpus) ? undefined : "spec.domain.cpu",
  };
  return hotplugs.flatMap((type) => (fields[type] === undefined ? [] : [`${fields[type]} (${type})`]));
}

function isDifferent(has: number | undefined, wanted: number | undefined): boolean {
  return has !== undefined && wanted !== undefined && has !== wanted;
}

/**
 * Renders the pod for a new start of the VM. If the VM has an instance type, the pod usually has the CPUs and memory of
 * the running VMI. This does not apply if the VM has changes that need a restart.
 */
export function renderStart<P extends LauncherPod>(
  pod: P,
  vmi: Source,
  vm: NextStart | undefined,
  { rendering }: Pick<Settings, "rendering">,
): NextPod<P> {
  const isFromVmi = vm?.template === undefined || vm.hasInstancetype;
  const asks = isFromVmi
    ? { ...vmi.asks, ...placedAs(vm?.template) }
    : { ...vm.template, ...defaults(vm.template, vmi) };
  const added = [VENDOR, ...(vmi.asks.cpuModel === HOST_MODEL ? [FEATURE, MIGRATION_MODEL] : [])];
  const isOwn = (key: string) => !added.some((prefix) => key.startsWith(prefix)) && !isOtherModel(key, asks);
  const next = { ...rendered(pod, { asks, had: hadOf(vmi), rendering, isOwn }), cpu: {} };
  if (!isFromVmi) return next;
  const isOld = vm?.restartRequired === true;
  return withUnknown(next, [...(isOld ? ["spec.instancetype (RestartRequired)"] : []), ...hotpluggedIn(vmi)]);
}

function placedAs(template: GuestAsks | undefined): Partial<GuestAsks> {
  if (template === undefined) return {};
  const { nodeSelector, required, tolerations, antiAffinity, unchecked } = template;
  return { nodeSelector, tolerations, antiAffinity, unchecked, ...(required && { required }) };
}

/** Returns the fields that KubeVirt sets when it creates the VMI. */
function defaults({ cpuModel, vcpus }: GuestAsks, { asks }: Source): Partial<GuestAsks> {
  const model = cpuModel ?? asks.cpuModel;
  return { ...(model !== undefined && { cpuModel: model }), vcpus: vcpus ?? 1 };
}

function isOtherModel(key: string, { cpuModel }: GuestAsks): boolean {
  return key.startsWith(MODEL) && key !== `${MODEL}${cpuModel}`;
}

/**
 * Returns the requirements of the VMI at the time when KubeVirt created its pod. Omits CPUs and memory that were
 * hotplugged later.
 */
function hadOf({ asks, currentVcpus, currentMemory }: Source): GuestAsks {
  const { vcpus = currentVcpus, guestMemory = currentMemory, requestedMemory } = asks;
  const less = (guestMemory ?? 0) - (currentMemory ?? guestMemory ?? 0);
  return {
    ...asks,
    ...(vcpus !== undefined && { vcpus: currentVcpus ?? vcpus }),
    ...(guestMemory !== undefined && { guestMemory: guestMemory - less }),
    ...(requestedMemory !== undefined && { requestedMemory: requestedMemory - less }),
  };
}

interface From {
  readonly asks: GuestAsks;
  readonly had: GuestAsks;
  readonly rendering: Rendering;
  /** Returns true if the next pod keeps the KubeVirt label `key` of the current pod's node selector. */
  readonly isOwn: (key: string) => boolean;
}

type Asking = Pick<LauncherPod, "requests" | "limits" | "placement" | "tolerations" | "antiAffinity">;

/**
 * A group of requirements. `most` contains the highest requirements that KubeVirt can render. If `field` makes the
 * requirements uncertain, `least` contains the lowest requirements.
 */
interface Part {
  readonly most: Partial<Asking>;
  readonly least?: Partial<Asking>;
  readonly field?: string;
}

function rendered<P extends LauncherPod>(pod: P, from: From): Omit<NextPod<P>, "cpu"> {
  const parts = [placementOf, tolerationsOf, antiAffinityOf, renderResources].map((part) => part(pod, from));
  const own = { unchecked: [...new Set([...from.asks.unchecked, ...keptOf(pod)])] };
  const most = withAll(pod, [own, ...parts.map((part) => part.most)]);
  const fields = parts.flatMap(({ field }) => field ?? []);
  if (fields.length === 0) return { pod: most };
  const least = withAll(
    most,
    parts.map((part) => part.least ?? {}),
  );
  return { pod: most, least: { pod: least, fields } };
}

function withAll<P extends LauncherPod>(pod: P, parts: readonly Partial<LauncherPod>[]): P {
  return parts.reduce<P>((one, part) => ({ ...one, ...part }), pod);
}

function keptOf({ unchecked = [] }: LauncherPod): readonly string[] {
  return unchecked.filter((field) => field === "hostPort");
}

function isKubeVirts(key: string): boolean {
  const [domain = ""] = key.split("/");
  const isOwn = domain === "kubevirt.io" || domain.endsWith(".kubevirt.io");
  return isOwn || key === "cpumanager" || key === "kubernetes.io/arch";
}

/**
 * Renders the node selector. The current pod's selector can also contain labels from its last migration
 * (`addedNodeSelector`), from admission webhooks, or from an older spec of the VMI. Lifeboat assumes that admission
 * webhooks add no hostname.
 */
function placementOf(pod: LauncherPod, { asks, rendering, isOwn }: From): Part {
  const own = { ...rendering.nodeSelectors, ...asks.nodeSelector };
  const others = Object.entries(pod.placement.nodeSelector).filter(([key]) => !Object.hasOwn(own, key));
  const kubevirts = Object.fromEntries(others.filter(([key]) => isKubeVirts(key) && isOwn(key)));
  const odd = Object.fromEntries(others.filter(([key]) => !isKubeVirts(key) && key !== HOSTNAME));
  const required = requiredOf(asks);
  const at = (nodeSelector: Labels) => ({ placement: { nodeSelector, ...(required && { required }) } });
  const least = { ...kubevirts, ...modelOf(asks), ...own };
  const keys = Object.keys(odd);
  if (keys.length === 0) return { most: at(least) };
  const field = `nodeSelector ${keys.join(", ")} of its current pod`;
  return { most: at({ ...odd, ...least }), least: at(least), field };
}

function modelOf({ cpuModel }: GuestAsks): Labels {
  return cpuModel === undefined || cpuModel.startsWith("host-") ? {} : { [`${MODEL}${cpuModel}`]: "true" };
}

/** Adds the forbidden node labels to every term, because a node has to match only one of the terms. */
function requiredOf({ required, cpuModel = HOST_MODEL, forbiddenFeatures }: GuestAsks) {
  const rejected = [
    ...(cpuModel === HOST_MODEL ? [OBSOLETE_MODEL] : []),
    ...forbiddenFeatures.map((name) => `${FEATURE}${name}`),
  ].map((key) => ({ key, operator: "DoesNotExist", values: [] }));
  if (rejected.length === 0) return required;
  const terms: readonly NodeSelectorTerm[] = required ?? [{ matchExpressions: [], matchFields: [] }];
  return terms.map((term) => ({ ...term, matchExpressions: [...term.matchExpressions, ...rejected] }));
}

/**
 * Admission plugins add tolerations for node conditions. Other tolerations of the current pod might come from an older
 * spec of the VMI.
 */
function tolerationsOf({ tolerations: present = [] }: LauncherPod, { asks }: From): Part {
  const isAsked = (one: Toleration) => asks.tolerations.some((own) => isSame(own, one));
  const others = present.filter((one) => !isAsked(one));
  const surely = [...asks.tolerations, ...others.filter(isAdmissions)];
  const odd = others.filter((one) => !isAdmissions(one));
  if (odd.length === 0) return { most: { tolerations: surely } };
  const field = `tolerations of its current pod for ${odd.map(({ key = "any key" }) => key).join(", ")}`;
  return { most: { tolerations: surely }, least: { tolerations: [...surely, ...odd] }, field };
}

function isAdmissions({ key = "" }: Toleration): boolean {
  return key.startsWith("node.kubernetes.io/");
}

function isSame(a: Toleration, b: Toleration): boolean {
  return a.key === b.key && a.operator === b.operator && a.value === b.value && a.effect === b.effect;
}

/** Returns the anti-affinity. Leaves out the term that KubeVirt adds to a target pod to keep it off the source node. */
function antiAffinityOf({ antiAffinity: present }: LauncherPod, { asks }: From): Part {
  const known = new Set(asks.antiAffinity.map((term) => JSON.stringify(term)));
  const odd = present.filter((term) => !isMigrations(term) && !known.has(JSON.stringify(term)));
  if (odd.length === 0) return { most: { antiAffinity: asks.antiAffinity } };
  const most = { antiAffinity: [...asks.antiAffinity, ...odd] };
  return { most, least: { antiAffinity: asks.antiAffinity }, field: "podAntiAffinity of its current pod" };
}

function isMigrations({ selector }: PodTerm): boolean {
  return selector !== undefined && CREATED_BY_LABEL in selector.matchLabels;
}
