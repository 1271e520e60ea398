/** Observing one VMI: what no rule needs is not read. Evacuations come before it, so that a missing mark means that it was removed. */
import { mayBeStuck } from "../evacuation/attempts.ts";
import { isBudgetRead } from "../budget/budget.ts";
import { readBudget } from "../budget/read.ts";
import { readAsking } from "../evacuation/read-asking.ts";
import { isOff, isShutdown, needsAsking } from "../evacuation/shutdown.ts";
import { inheritedAttempts, type MigrationQueue, needsNode, needsPods, needsTarget } from "../evacuation/world.ts";
import type { MigrationFacts, NamespacedName, NodeFacts, PodFacts, VmiFacts } from "../kube/facts.ts";
import { type EvacuationFacts, isActive, isToBeReleased } from "../kube/evacuation.ts";
import { isSafeWithLiveVmi } from "../facts/safe-actions.ts";
import { type Client, named } from "../kube/client.ts";
import { CREATED_BY_LABEL } from "../kube/names.ts";
import { present } from "../kube/schemas/fields.ts";
import { Launcher, Seen } from "../kube/schemas/kubernetes.ts";
import { ClusterError, isForbidden } from "../kube/failures.ts";
import { hasBegun, targetPodOf } from "../evacuation/not-started.ts";
import { secondsSince } from "../settings/time.ts";
import { isSafe, NO_WORLD, type World } from "./carry-out.ts";
import { evacuationsOf, LAUNCHER, migratingVmis, migrationsOf } from "../kube/requests.ts";
import { isFinal } from "../kube/objects.ts";
import { deschedulerSupport } from "../annotations/feature.ts";
import { isFeatureOn } from "../settings/feature.ts";
import type { Observer } from "../settings/load-settings.ts";

/** What the caller has read, or pods that it was asked about. */
export interface Known {
  readonly evacuations?: readonly EvacuationFacts[];
  readonly vmi?: VmiFacts;
  readonly pods?: readonly PodFacts[];
  /** Empty where the evacuation has just started: KubeVirt has not seen the mark yet. */
  readonly migrations?: readonly MigrationFacts[];
}

interface OfVmi extends Observer {
  /** Its reads may be old. */
  readonly cached?: Client | undefined;
  readonly isWatched?: boolean;
}

/** As watches show it, where nothing is known, and nothing comes of it that must not be done on old facts. */
export async function observeVmi(
  key: NamespacedName,
  { cached, ...observer }: OfVmi,
  given: Known = {},
): Promise<World> {
  const isKnown = given.vmi !== undefined || given.evacuations !== undefined || (given.pods ?? []).length > 0;
  const watched = cached === undefined || isKnown ? undefined : await observeWatched(key, cached, observer);
  return watched ?? (await observe(key, observer, given));
}

/** That a VM has moved is done on a live VMI alone: it is newer than its Evacuation, whose version the write tests. */
async function observeWatched(key: NamespacedName, cached: Client, observer: OfVmi): Promise<World | undefined> {
  const watching = { ...observer, cluster: cached };
  const seen = await observe(key, watching, {});
  if (isSafe(seen)) return seen;
  if (!isSafe(seen, isSafeWithLiveVmi)) return undefined;
  const vmi = await observer.cluster.get("virtualmachineinstances", key);
  const world = vmi && (await observe(key, watching, { vmi }));
  return world !== undefined && isSafe(world, isSafeWithLiveVmi) ? world : undefined;
}

async function observe(key: NamespacedName, observer: OfVmi, given: Known): Promise<World> {
  const { cluster, settings, now, isWatched } = observer;
  const known = stillKnown(given);
  const evacuations = known.evacuations ?? (await evacuationsOf(key, cluster));
  const active = evacuations.filter(isContinuing);
  const isReleased = evacuations.some(isToBeReleased);
  const [vmi, migrations] = await Promise.all([
    known.vmi ?? cluster.get("virtualmachineinstances", key),
    known.migrations ?? (active.length === 0 && !isReleased ? [] : migrationsOf([key], cluster)),
  ]);
  const world = {
    ...NO_WORLD,
    settings,
    now,
    evacuations,
    migrations,
    pods: given.pods ?? [],
    vmisAreNewer: known.vmi === undefined,
    isWatched,
    areVmisKnown: true,
  };
  const asking = await readAllAsking(evacuations, vmi, observer);
  if (vmi === undefined) return { ...world, asking };
  return { ...world, asking, ...(await observeAround(vmi, { ...world, active, isReleased }, observer)), vmis: [vmi] };
}

/** Reads the facts for restarts and stops that KubeVirt has not acted on, and for VMs that are to start again. */
async function readAllAsking(all: readonly EvacuationFacts[], vmi: VmiFacts | undefined, { cluster, now }: Observer) {
  const asking = all.filter((e) => isShutdown(e) && needsAsking(e, vmi, now));
  const uid = isOff(vmi) ? undefined : vmi?.uid;
  return new Map(await Promise.all(asking.map(async (e) => [e.uid, await readAsking(e, uid, cluster)] as const)));
}

/** Discards the given facts if an Evacuation is to be released: another Evacuation may continue by now. */
function stillKnown(given: Known): Known {
  return given.evacuations?.some(isToBeReleased) === true ? {} : given;
}

/** The deadline of a `Duplicate` still counts. */
function isContinuing(evacuation: EvacuationFacts): boolean {
  return isActive(evacuation) || evacuation.status.phase === "Duplicate";
}

interface Found {
  readonly active: readonly EvacuationFacts[];
  readonly migrations: readonly MigrationFacts[];
  readonly pods: readonly PodFacts[];
  /** Its mark is to be taken back, which depends on the node that it names. */
  readonly isReleased: boolean;
}

async function observeAround(vmi: VmiFacts, found: Found, observer: Observer) {
  const { cluster, settings } = observer;
  const { active, pods, isReleased } = found;
  const isNodeNeeded = active.some((e) => needsNode(e, observer.now)) || pods.length > 0;
  const names = [isNodeNeeded ? vmi.nodeName : undefined, isReleased ? vmi.evacuationNodeName : undefined];
  const [nodes, own, budgets, launchers, queues] = await Promise.all([
    readNodes(names, cluster),
    arePodsNeeded(vmi, found, observer)
      ? cluster.list("pods", { namespace: vmi.namespace, labels: launchersOf(vmi) })
      : [],
    isBudgetRead(active, settings) ? readBudget(vmi, cluster) : [],
    isFeatureOn(deschedulerSupport, settings)
      ? cluster.list("pods", { labels: { ...LAUNCHER, ...launchersOf(vmi) }, as: Launcher })
      : [],
    isQueueNeeded(found, observer) ? readQueue(vmi, observer) : undefined,
  ]);
  const events = await readEvents(vmi, { ...found, pods: own }, observer);
  // What was read later comes first.
  return present({ nodes, pods: [...own, ...pods], budgets, launchers, queues, events });
}

function arePodsNeeded(vmi: VmiFacts, { active, migrations }: Found, { now }: Observer): boolean {
  return active.some((e) => needsPods(e, now)) || (active.length > 0 && needsTarget(vmi, migrations));
}

/** A target pod that has not started by then is worth more requests. */
const STARTS_SECONDS = 20;
const MOST_EVENTS = 50;

/** Reads Events that say why a late migration's target pod is refused or does not start. Undefined: Lifeboat may not read Events. */
async function readEvents(vmi: VmiFacts, { active, migrations, pods }: Found, observer: Observer) {
  const { cluster, now } = observer;
  const attempts = Math.max(0, ...active.map(inheritedAttempts));
  const late = migrations.find((m) => !isFinal(m) && !hasBegun(m) && isLate(m, attempts, observer));
  if (active.length === 0 || late === undefined) return undefined;
  const target = targetPodOf(late, { vmi, w: { ...observer, pods, now } });
  const fields: Readonly<Record<string, string>> =
    target === undefined
      ? { "involvedObject.uid": vmi.uid, reason: "FailedCreate" }
      : { "involvedObject.uid": target.uid, type: "Warning" };
  const listing = { namespace: vmi.namespace, fields, as: Seen, limit: MOST_EVENTS };
  return await cluster.list("events", listing).catch((error: unknown) => {
    if (error instanceof ClusterError && isForbidden(error.failure)) return undefined;
    throw error;
  });
}

function isLate(m: MigrationFacts, attempts: number, observer: Observer): boolean {
  if (m.phase !== "Scheduling") return mayBeStuck(m, attempts, observer);
  return secondsSince(m.schedulingSince ?? m.createdAt, observer.now) >= STARTS_SECONDS;
}

export async function readNodes(
  names: readonly (string | undefined)[],
  cluster: Client,
): Promise<readonly NodeFacts[]> {
  const distinct = [...new Set(names)].filter((name) => name !== undefined);
  return (await Promise.all(distinct.map((name) => cluster.get("nodes", named(name))))).filter(
    (node) => node !== undefined,
  );
}

function launchersOf({ uid }: VmiFacts) {
  return { [CREATED_BY_LABEL]: uid };
}

function isQueueNeeded({ active, migrations }: Found, observer: Observer): boolean {
  const attempts = Math.max(0, ...active.map(inheritedAttempts));
  return migrations.some((m) => !isFinal(m) && mayBeStuck(m, attempts, observer));
}

async function readQueue(
  { nodeName = "" }: VmiFacts,
  { cluster }: Observer,
): Promise<ReadonlyMap<string, MigrationQueue>> {
  const running = await migratingVmis(cluster);
  const leaving = running.filter((vmi) => vmi.nodeName === nodeName).length;
  return new Map([[nodeName, { running: running.length, leaving }]]);
}
