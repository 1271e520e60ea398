/**
 * Checks the ValidatingAdmissionPolicies of the guard, the feature that refuses deletions of VMs' pods: whether they
 * fit the cluster, and whether they would refuse deletions of unrelated pods.
 */
import * as z from "zod";
import { guard } from "../../../shared/guard/feature.ts";
import type { PodFacts, VmiFacts } from "../../../shared/kube/facts.ts";
import { HOLD_PREEMPTION } from "../../../shared/kube/names.ts";
import { isFinal, launcherOfHotplug } from "../../../shared/kube/objects.ts";
import type { HoldPolicy } from "../../../shared/settings/holds.ts";
import { fitPolicy, type GuardSite, isGuardPolicy, isPolicyPlanned } from "../install/guard.ts";
import { schedulerFix } from "../install/schedulers.ts";
import { filesOf, type Manifest, manifestsIn } from "../install/manifests.ts";
import { failed, type Finding, ok, warning } from "../../../shared/settings/finding.ts";
import type { DoctorReads } from "./reads.ts";

const FIX = "lifeboat install --with guard";

/** The guard's policies and bindings in Lifeboat's manifests. */
export const SHIPPED: readonly Manifest[] = filesOf(guard).flatMap(manifestsIn).filter(isGuardPolicy);

/** The installed policies and bindings, as a map from kind and name to object. */
export type Installed = ReadonlyMap<string, unknown>;

export function idOf({ kind, metadata: { name } }: Manifest): string {
  return `${kind} ${name}`;
}

/** Compares the installed policies with the policies in Lifeboat's manifests. */
export async function policies({ holdPolicies, guardSite, policyObjects }: DoctorReads): Promise<readonly Finding[]> {
  const there = await holdPolicies();
  if (there.size === 0) return [];
  const [site, objects] = [await guardSite(), await policyObjects()];
  const isThere = ({ metadata: { name } }: Manifest) => [...there].some((policy) => policy === name);
  const timeless = isTimeless(site) && !there.has(HOLD_PREEMPTION) ? [NO_CLOCK] : [];
  const wrong = [...timeless, ...SHIPPED.filter(isThere).flatMap((manifest) => findingOf(manifest, site, objects))];
  return wrong.length > 0 ? wrong : [ok("the guard's policies fit the settings and this cluster")];
}

const Bound = z.object({
  spec: z.object({ paramRef: z.object({ namespace: z.string(), name: z.string() }) }),
});

/** Returns the Lease that the policy for preemptions uses as a clock. */
export function clockIn(objects: Installed) {
  const binding = SHIPPED.find(({ kind, metadata }) => isBinding(kind) && metadata.name === HOLD_PREEMPTION);
  return binding && Bound.safeParse(objects.get(idOf(binding))).data?.spec.paramRef;
}

function isBinding(kind: string): boolean {
  return kind.endsWith("Binding");
}

const LETS_THROUGH = "without a running clock, the policy allows preemptions of VMs while Lifeboat is unavailable";
const NO_ELECTION = "with --leader-elect=false, kube-controller-manager has no Lease";

/** Checks the Lease that the policy for preemptions uses as a clock. Without this Lease, the policy refuses nothing. */
export async function holdClock({ holdLease, guardSite }: DoctorReads): Promise<readonly Finding[]> {
  const lease = await holdLease();
  if (lease === undefined) return [];
  const what = `Lease ${lease.namespace}/${lease.name}`;
  if (lease.state === "Renewed") return [ok(`policy ${HOLD_PREEMPTION} uses ${what} as its clock`)];
  const message = `${what} ${lease.state === "Missing" ? "does not exist" : "is not renewed any more"}`;
  const isOther = (await guardSite()).clock !== undefined;
  const fix = isOther ? FIX : `start kube-controller-manager with --leader-elect=true, then ${FIX}`;
  return [
    failed(message, [`policy ${HOLD_PREEMPTION} uses this Lease as its clock: ${LETS_THROUGH}`, NO_ELECTION], fix),
  ];
}

const UNKNOWN_SCHEDULERS = "the accounts that schedule pods could not be read";
const READ_ROLES = "run lifeboat doctor with an account that may list ClusterRoles and ClusterRoleBindings";

export async function schedulers({
  guardSite,
  guardWebhook,
  schedulers: read,
}: DoctorReads): Promise<readonly Finding[]> {
  if ((await guardWebhook()) === undefined) return [];
  const { requesters, featureGates } = await guardSite();
  if (!featureGates.includes("PreemptionEvictionLiveMigration")) return [];
  const accounts = await read();
  if (accounts === undefined)
    return [
      warning(
        UNKNOWN_SCHEDULERS,
        "the command finds these accounts in ClusterRoles and ClusterRoleBindings",
        READ_ROLES,
      ),
    ];
  const found = schedulerFix(accounts, requesters);
  if (found === undefined) return [ok("the guard covers all accounts that schedule pods")];
  const reason =
    "these accounts can bind and delete pods, and guard.requesters does not list them: if they schedule pods, add them to guard.requesters";
  return [warning(`the guard does not refuse preemptions by ${found.unknown}`, reason, found.fix)];
}

const WITHOUT_CLOCK =
  "no Lease in kube-system can serve as a clock: no policy refuses preemptions while Lifeboat is unavailable";
/**
 * The finding for a cluster without a suitable Lease, such as k3s on SQLite. `lifeboat install` then leaves out the
 * policy for preemptions.
 */
const NO_CLOCK = warning("only the webhook refuses preemptions", WITHOUT_CLOCK);

function isTimeless({ clock, featureGates }: GuardSite): boolean {
  return clock === undefined && featureGates.includes("PreemptionEvictionLiveMigration");
}

function findingOf(manifest: Manifest, site: GuardSite, objects: Installed): readonly Finding[] {
  if (!isPolicyPlanned(manifest, { ...site, clock: site.clock ?? ANY_CLOCK })) return [];
  if (!isPolicyPlanned(manifest, site)) {
    return [warning(`${idOf(manifest)} does not fit this cluster`, WITHOUT_CLOCK, FIX)];
  }
  const found = objects.get(idOf(manifest));
  if (found === undefined)
    return [failed(`${idOf(manifest)} is missing`, "without the policy, its binding does nothing", FIX)];
  const { spec } = z.object({ spec: z.unknown() }).parse(found);
  const differences = differencesOf(fitPolicy(manifest, site)["spec"], spec, "spec");
  if (differences.length === 0) return [];
  return [failed(`${idOf(manifest)} does not fit the settings and this cluster`, differences, FIX)];
}

const ANY_CLOCK = { namespace: "", name: "", holdSeconds: 0 };

const List = z.array(z.unknown());
const Fields = z.record(z.string(), z.unknown());

/**
 * Lists the fields in which `found` differs from `wanted`. Ignores additional fields of `found`, because the API server
 * adds defaults.
 */
export function differencesOf(wanted: unknown, found: unknown, path: string): readonly string[] {
  const [list, other] = [List.safeParse(wanted).data, List.safeParse(found).data];
  if (list !== undefined && other?.length === list.length) {
    return list.flatMap((one, at) => differencesOf(one, other[at], `${path}.${nameIn(one) ?? at}`));
  }
  const [fields, others] = [Fields.safeParse(wanted).data, Fields.safeParse(found).data];
  if (list === undefined && fields !== undefined && others !== undefined) {
    return Object.entries(fields).flatMap(([key, value]) => differencesOf(value, others[key], `${path}.${key}`));
  }
  const [is, shouldBe] = [oneLine(found), oneLine(wanted)];
  return is === shouldBe ? [] : [`${path} is ${is}, and should be ${shouldBe}`];
}

function nameIn(value: unknown): string | undefined {
  return z.object({ name: z.string() }).safeParse(value).data?.name;
}

function oneLine(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(/\s+/g, " ").trim() : (JSON.stringify(value) ?? "absent");
}

const MOST = 10;
const HOLDING: readonly HoldPolicy[] = ["lifeboat-hold-taints", "lifeboat-hold-preemption", "lifeboat-hold-node-end"];

/**
 * Reports pods that have a launcher's labels but were not created by KubeVirt. The guard's policies can refuse the
 * deletion of such a pod.
 */
export async function launchers({ holdPolicies, launcherPods }: DoctorReads): Promise<readonly Finding[]> {
  const there = await holdPolicies();
  if (!HOLDING.some((policy) => there.has(policy))) return [];
  const { pods, vmis } = await launcherPods();
  const forged = forgedAmong(pods, vmis);
  if (forged.length === 0) return [ok("the guard's policies refuse deletions only of VMs' pods")];
  const have = forged.length === 1 ? "1 pod has" : `${forged.length} pods have`;
  const said = `${have} a launcher's labels, but KubeVirt did not create ${forged.length === 1 ? "it" : "them"}`;
  const names = forged.slice(0, MOST).map(({ namespace, name }) => `${namespace}/${name}`);
  const reasons = [
    "no VMI lists these pods in status.activePods, but the guard's policies would refuse their deletion:",
    ...names,
    ...(forged.length > MOST ? [`and ${forged.length - MOST} more`] : []),
  ];
  const [first] = forged;
  return [warning(said, reasons, `kubectl -n ${first?.namespace} delete pod ${first?.name}`)];
}

/** Returns the pods that no VMI lists. */
export function forgedAmong(pods: readonly PodFacts[], vmis: readonly VmiFacts[]): readonly PodFacts[] {
  const known = new Set(
    vmis.flatMap(({ namespace, activePods }) => Object.keys(activePods).map((uid) => `${namespace}/${uid}`)),
  );
  return pods
    .filter((pod) => !isFinal(pod) && !pod.deleting)
    .filter((pod) => !known.has(`${pod.namespace}/${(launcherOfHotplug(pod) ?? pod).uid}`));
}
