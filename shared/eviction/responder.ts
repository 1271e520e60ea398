/** What EvictionRequests of Kubernetes ask of Lifeboat, and what it reports. Experimental: KEP-4563, `lifecycle.k8s.io/v1alpha1`. */
import type { NewEvacuation } from "../kube/action.ts";
import { type EvacuationFacts, isActive } from "../kube/evacuation.ts";
import type { EvictionFacts, ResponderReport, VmiFacts } from "../kube/facts.ts";
import { isFinal } from "../kube/objects.ts";
import type { Settings } from "../settings/settings.ts";
import { FIRST_REQUEST, mobilityOf } from "./table.ts";
import { strategyOf } from "../settings/strategy.ts";
import { activeEvacuation, byAge, guestPodUID, newEvacuation, podUIDOf } from "../evacuation/identity.ts";
import { type Operation, pointer, test } from "../evacuation/manifests.ts";
import { RESPONDER } from "../kube/names.ts";

/** As upstream recommends; after 20 minutes without one it turns to the next responder. */
const HEARTBEAT_SECONDS = 180;
/** Upstream asks for no more of them, also if the message changes. */
const LEAST_SECONDS = 20;
const LONGEST_MESSAGE = 4000;

export interface Asked {
  readonly eviction: EvictionFacts;
  /** Of the pod; absent: there is none. */
  readonly vmi?: VmiFacts | undefined;
  readonly evacuations: readonly EvacuationFacts[];
  readonly settings: Pick<Settings, "clusterStrategy">;
  readonly now: Date;
}

export interface Answer {
  readonly create?: NewEvacuation;
  readonly message: string;
  /** The next responder follows: at last upstream's own, which evicts the pod, and KubeVirt and Lifeboat review that. */
  readonly isCompleted: boolean;
}

/** Whether it is Lifeboat's turn. */
export function isAsked({ state, at, report }: EvictionFacts): boolean {
  return state === "Active" && at >= 0 && report?.completionTime === undefined;
}

export function answerTo(asked: Asked): Answer {
  const { eviction, vmi, evacuations } = asked;
  const uid = eviction.pod?.uid;
  const active = vmi && activeEvacuation(vmi, evacuations, uid);
  if (active !== undefined) return { message: describe(active), isCompleted: false };
  const ended = evacuations.filter((e) => podUIDOf(e) === uid && hasEndedSince(e, eviction.report));
  const last = ended.toSorted(byAge).at(-1);
  if (last !== undefined) return { message: describe(last), isCompleted: true };
  const reason = reasonNotTo(asked);
  if (vmi === undefined || reason !== undefined) return { message: reason ?? NO_VM, isCompleted: true };
  const requestedBy = eviction.requesters.join(", ") || eviction.name;
  const create = newEvacuation(vmi, { cause: "EvictionRequest", requestedBy, ...podOf(eviction) }, asked);
  return { create, message: `Evacuation ${create.name} has been created`, isCompleted: false };
}

const NO_VM = "no running VM is in this pod";

function reasonNotTo({ eviction, vmi, settings }: Asked): string | undefined {
  if (vmi === undefined || isFinal(vmi) || vmi.deleting || guestPodUID(vmi) !== eviction.pod?.uid) return NO_VM;
  const strategy = strategyOf(vmi, settings);
  const first = FIRST_REQUEST[strategy][mobilityOf(vmi)];
  if (first === "evacuate" || first === "refuse") return undefined;
  return `eviction strategy ${strategy}: the pod may be evicted, which stops the VM`;
}

function podOf({ pod }: EvictionFacts) {
  return pod === undefined ? {} : { pod };
}

/** One that had ended before is no answer to this request. */
function hasEndedSince(e: EvacuationFacts, report: ResponderReport | undefined): boolean {
  const { phase, completionTime = "" } = e.status;
  return !isActive(e) && phase !== "Duplicate" && !(Date.parse(completionTime) < Date.parse(report?.startTime ?? ""));
}

function describe({ name, status: { phase = "Pending", message = "" } }: EvacuationFacts): string {
  return [`Evacuation ${name}`, phase, message].filter(Boolean).join(": ");
}

/** What to write of it now; undefined: the last heartbeat still does. The API server takes it only while Lifeboat is Active. */
export function reportOn({ at, report }: EvictionFacts, answer: Answer, now: Date): readonly Operation[] | undefined {
  const message = answer.message.slice(0, LONGEST_MESSAGE);
  const seconds = (now.getTime() - Date.parse(report?.heartbeatTime ?? "")) / 1000;
  const isFresh = seconds < LEAST_SECONDS || (seconds < HEARTBEAT_SECONDS && message === report?.message);
  if (isFresh && !answer.isCompleted) return undefined;
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const path = (field: string) => pointer("status", "responders", String(at), field);
  const fields = { heartbeatTime: time, message, ...(answer.isCompleted && { completionTime: time }) };
  return [
    test(path("name"), RESPONDER),
    ...Object.entries(fields).map(([field, value]) => ({ op: "add", path: path(field), value }) as const),
  ];
}

/** Those that no Eviction asks for any more: cancelled, or gone with its requests. The Evacuations were read before the Evictions. */
export function withdrawnBy(
  evictions: readonly EvictionFacts[],
  evacuations: readonly EvacuationFacts[],
): readonly EvacuationFacts[] {
  const byPod = Map.groupBy(evictions, ({ pod }) => pod?.uid);
  return evacuations.filter((e) => {
    const isContinuing = isActive(e) && isOfRequest(e) && e.spec.intent === "Evacuate";
    return isContinuing && isOver((byPod.get(podUIDOf(e)) ?? []).map(({ state = "" }) => state));
  });
}

/** Upstream: Completed or Interrupted responders should not take any action. */
function isOver(states: readonly string[]): boolean {
  const isAsking = states.some((state) => state !== "Canceled" && state !== "Completed");
  return !isAsking && (states.length === 0 || states.includes("Canceled"));
}

/** A drain or a person that joined one asks again. */
function isOfRequest({ spec }: EvacuationFacts): boolean {
  return spec.cause === "EvictionRequest";
}
