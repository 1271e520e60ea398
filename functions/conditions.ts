/**
 * The status of a cluster's LifeboatConfiguration, kept up to date by full scans.
 * Owns: gathering what it says. Does not own: the conditions (shared/policy/configuration-status.ts).
 */
import { reportConditions } from "../shared/policy/configuration-status.ts";
import type { Target } from "./target.ts";
import { tryPermissions } from "./trials.ts";

const REPORT_SECONDS = 10;

/** Also after a scan that has failed: a permission may be missing. Never throws. */
export async function keepConditions(target: Target): Promise<void> {
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const { own, settings, notes } = await target.settings(cluster, true);
    if (own === undefined) return;
    const problems = own.problems.map(({ field, message }) => `${field}: ${message}`);
    const trials = await tryPermissions(cluster, settings);
    const actions = reportConditions(own.facts, { problems, notes, trials }, target.platform.now());
    for (const action of actions) await cluster.act(action, settings);
  } catch (error) {
    target.logFailure("reporting on the LifeboatConfiguration", error);
  }
}
