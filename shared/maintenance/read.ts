/** Reads the facts for the forecast of a NodeEvacuation from the API server. */
import { decide } from "../facts/decide.ts";
import type { Facts } from "../facts/facts.ts";
import { liveReads } from "../facts/reads.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import type { Preflight } from "../preflight/facts.ts";
import type { Observer } from "../settings/load-settings.ts";
import { forecastOf } from "./forecast.ts";
import { preflightBeside } from "./questions.ts";

/**
 * Returns the forecast of a NodeEvacuation that has not started or does not exist yet. Returns undefined if the node
 * does not exist.
 */
export async function readForecast(
  ne: NodeEvacuationFacts,
  all: readonly NodeEvacuationFacts[],
  { cluster, settings, now }: Observer,
): Promise<Preflight | undefined> {
  const rule = (facts: Facts) => {
    const w = { ne, facts, settings, now, isThorough: true };
    const found = preflightBeside(w);
    return found && forecastOf(found, w).found;
  };
  const known = [[{ kind: "nodeevacuations", selection: {} }, { value: all }]] as const;
  return (await decide(rule, liveReads(cluster), { known })).answer;
}
