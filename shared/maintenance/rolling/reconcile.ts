/**
 * Reconciles RollingMaintenances. Each pass reads the cluster, finds the first rule that applies, and performs the
 * rule's actions. Several processes can reconcile at the same time.
 */
import { decide } from "../../facts/decide.ts";
import { liveReads } from "../../facts/reads.ts";
import type { Action } from "../../kube/action.ts";
import type { Client } from "../../kube/client.ts";
import { ClusterError, isForbidden } from "../../kube/failures.ts";
import type { RollingMaintenanceFacts, RollingMaintenanceStatus } from "../../kube/rolling-maintenance.ts";
import { perform, type Performed } from "../../act/perform.ts";
import type { Settings } from "../../settings/settings.ts";
import { rollingEvents } from "./events.ts";
import { ROLLING_MESSAGES as MESSAGES } from "./messages.ts";
import { nextOfRolling } from "./rules.ts";
import { phasesOf, rollingStatusAfter } from "./status.ts";
import { isRollingOpen, type RollingNext } from "./world.ts";

export interface Rolling {
  readonly cluster: Client;
  readonly settings: Settings;
  readonly clock: () => Date;
  readonly onFailure: (doing: string, failure: ClusterError) => void;
}

export interface Rolled {
  readonly done: readonly Action["verb"][];
  readonly failures: number;
  readonly created: readonly string[];
  /**
   * True if the phase of a RollingMaintenance or of one of its nodes has changed. If true, Lifeboat's taints on nodes
   * whose drain is pending might have to change.
   */
  readonly isTurned: boolean;
}

/**
 * The maximum number of passes. One drain can need three passes to start, and several drains can start at the same
 * time.
 */
const MOST_PASSES = 12;

/** Reconciles RollingMaintenances. Throws a ClusterError only if no list could be read. */
export async function reconcileRollingMaintenances(deps: Rolling): Promise<Rolled> {
  const reads = liveReads(deps.cluster);
  const { answer: all } = await decide((facts) => facts.list("rollingmaintenances"), reads);
  const passes: Examined[] = [];
  if (all.length > 0) {
    const { answer: nodeEvacuations } = await decide((facts) => facts.list("nodeevacuations"), reads);
    const open = all.filter((one) => isRollingOpen(one, nodeEvacuations));
    for (const rm of open) passes.push(...(await reconcileOne(rm, deps)));
  }
  return {
    done: passes.flatMap(({ done }) => done),
    failures: passes.reduce((sum, { failures }) => sum + failures, 0),
    created: passes.flatMap(({ created }) => created),
    isTurned: passes.some(({ isTurned }) => isTurned),
  };
}

async function reconcileOne(rm: RollingMaintenanceFacts, deps: Rolling): Promise<readonly Examined[]> {
  const passes: Examined[] = [];
  for (let i = 0; i < MOST_PASSES; i++) {
    const examined = await examine(rm, deps);
    passes.push(examined);
    if (!examined.isAgain) break;
  }
  return passes;
}

type Examined = Rolled & { readonly isAgain: boolean };

const NOTHING: Examined = { done: [], failures: 0, created: [], isTurned: false, isAgain: false };

async function examine({ name, uid }: RollingMaintenanceFacts, deps: Rolling): Promise<Examined> {
  const { cluster, settings, clock, onFailure } = deps;
  const now = clock();
  try {
    const { answer } = await decide((facts) => nextOfRolling(uid, facts, { settings, now }), liveReads(cluster));
    return answer === undefined || answer.next === "Nothing" ? NOTHING : await act(answer.rm, answer.next, deps);
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure(`reconciling RollingMaintenance ${name}`, error);
    return { ...NOTHING, failures: 1 };
  }
}

async function act(rm: RollingMaintenanceFacts, next: RollingNext, deps: Rolling): Promise<Examined> {
  const before: Performed[] = [];
  for (const action of next.first ?? []) before.push(await perform([action], performingOf(deps)));
  const denied = before.find(hasFailed)?.failure;
  const said = denied === undefined ? next : { ...next, ...lacking(denied) };
  const status = rollingStatusAfter(rm, said, deps.clock());
  const ended = status === undefined ? [] : [await say(rm, said, status, deps)];
  const performed = [...before, ...ended];
  const isConflict = performed.some(({ outcome }) => outcome === "Conflict");
  return {
    done: performed.flatMap(({ done }) => done),
    failures: performed.filter(hasFailed).length,
    created: createdBy(next, before),
    isTurned: isTurnedBy(rm, status),
    isAgain: denied === undefined && (isConflict || (next.again === true && !ended.some(hasFailed))),
  };
}

function hasFailed({ failure }: Performed): boolean {
  return failure !== undefined;
}

function isTurnedBy({ spec, status: before }: RollingMaintenanceFacts, status = before): boolean {
  return spec.steering !== "None" && phasesOf(status) !== phasesOf(before);
}

function createdBy({ first = [] }: RollingNext, performed: readonly Performed[]): readonly string[] {
  return first.flatMap((action, at) => {
    return action.verb === "CreateNodeEvacuation" && performed[at]?.outcome === "Done" ? [action.name] : [];
  });
}

async function say(
  rm: RollingMaintenanceFacts,
  next: RollingNext,
  status: RollingMaintenanceStatus,
  deps: Rolling,
): Promise<Performed> {
  const write = { verb: "WriteRollingStatus", rm, status } as const;
  return await perform([write, ...rollingEvents(rm, next)], performingOf(deps));
}

function performingOf({ cluster, clock, onFailure }: Rolling) {
  return { cluster, now: clock, onFailure };
}

function lacking(error: ClusterError): Pick<RollingNext, "phase" | "message"> {
  const { failure } = error;
  const what = failure.reason === "Refused" ? failure.request : MESSAGES.requestFailed;
  return { phase: "Blocked", message: isForbidden(error) ? MESSAGES.lacksPermission(what) : MESSAGES.notCreated(what) };
}
