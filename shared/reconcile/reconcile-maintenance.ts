/** Reconciles node maintenance: RollingMaintenances, NodeEvacuations, and the VMs that have to leave. */
import { eachOf } from "../act/each-of.ts";
import { decide } from "../facts/decide.ts";
import { type Facts, together } from "../facts/facts.ts";
import { liveReads } from "../facts/reads.ts";
import type { NamespacedName } from "../kube/facts.ts";
import { keyOf } from "../kube/objects.ts";
import { type Maintaining, reconcileNodeEvacuations } from "../maintenance/reconcile.ts";
import { reconcileRollingMaintenances } from "../maintenance/rolling/reconcile.ts";
import { planSteering } from "../maintenance/rolling/steering.ts";
import { attempt, carryOut, type Deps, isTime, NOTHING, type Result, sum } from "./carry-out.ts";

export interface Which extends Pick<Maintaining, "isConcerned" | "isThorough"> {
  /** True if RollingMaintenances should be reconciled even if none of their NodeEvacuations has changed. */
  readonly isRolling: boolean;
}

type ReconcileVm = (key: NamespacedName) => Promise<Result>;

/** The maximum number of rounds. When the drain of a node is finished, another drain can start in the next round. */
const MOST_TURNS = 4;

export async function reconcileMaintenance(deps: Deps, which: Which, reconcileVm: ReconcileVm): Promise<Result> {
  const results: Result[] = [];
  let [isRolling, isConcerned] = [which.isRolling, which.isConcerned];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const rolled = isRolling ? await roll(deps) : { created: new Set<string>(), isTurned: false, result: NOTHING };
    results.push(rolled.result);
    if (rolled.isTurned) results.push(await steer(deps));
    if (turn > 0 && rolled.created.size === 0) break;
    const before = isConcerned;
    const maintained = await emptyEach(
      deps,
      { ...which, isConcerned: (ne, all) => rolled.created.has(ne.name) || before(ne, all) },
      reconcileVm,
    );
    results.push(maintained.result);
    if (!maintained.isPartChanged) break;
    [isRolling, isConcerned] = [true, () => false];
  }
  return sum(results);
}

async function roll(deps: Deps) {
  const work = () => reconcileRollingMaintenances(deps);
  const { found, result } = await attempt("listing RollingMaintenances", deps, work);
  const { done = [], failures = 0, created = [], isTurned = false } = found ?? {};
  const counted = done.map((verb) => ({ ...NOTHING, done: { [verb]: 1 } }));
  const own = { ...NOTHING, failures, isUnderWay: created.length > 0 };
  return {
    created: new Set(created),
    isTurned,
    result: sum([{ ...result, refused: result.failures }, ...counted, own]),
  };
}

/**
 * Updates the taints that keep VMs away from nodes with a pending drain. If an update fails, the next full scan tries
 * it again.
 */
async function steer(deps: Deps): Promise<Result> {
  const rule = (facts: Facts) => {
    const [nodes, rolling] = together(
      () => facts.readable("nodes").items,
      () => facts.list("rollingmaintenances"),
    );
    return planSteering(nodes, rolling, deps.clock());
  };
  const { found = NOTHING, result } = await attempt("steering VMs away from nodes not yet drained", deps, async () => {
    const { answer } = await decide(rule, liveReads(deps.cluster));
    return { ...(await carryOut([{ name: "steering", ...answer }], deps)), again: false };
  });
  return sum([found, result]);
}

async function emptyEach(deps: Deps, which: Which, reconcileVm: ReconcileVm) {
  const work = () => reconcileNodeEvacuations({ ...deps, ...which });
  const { found = [], result } = await attempt("listing NodeEvacuations", deps, work);
  const keys = new Map(found.flatMap(({ vmis }) => vmis).map((key) => [keyOf(key), key]));
  const { results, left } = await eachOf([...keys.values()], reconcileVm, isTime(deps));
  const passes = found.map(({ done, failures, isUnderWay }) =>
    sum([...done.map((verb) => ({ ...NOTHING, done: { [verb]: 1 } })), { ...NOTHING, failures, isUnderWay }]),
  );
  return {
    isPartChanged: found.some(({ isPart, done }) => isPart && done.includes("WriteNodeStatus")),
    result: sum([{ ...result, refused: result.failures }, ...passes, ...results, { ...NOTHING, left }]),
  };
}
