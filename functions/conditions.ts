/**
 * The status of a cluster's LifeboatConfiguration: full scans keep it up to date.
 * Owns: gathering the findings. Does not own: the conditions (shared/policy/configuration-status.ts).
 */
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import { parseConfiguration } from "../shared/config/lifeboat-configuration.ts";
import { notesOn } from "../shared/config/settings.ts";
import { reportConditions } from "../shared/policy/configuration-status.ts";
import { DEFAULT_SETTINGS, type Settings } from "../shared/policy/settings.ts";
import type { Target } from "./target.ts";
import { tryPermissions } from "./readyz.ts";

const REPORT_SECONDS = 10;

/** Also after a scan that has failed: a permission may be missing. Never throws. */
export async function keepConditions(target: Target): Promise<void> {
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const observed = await cluster.getConfiguration();
    if (observed === undefined) return;
    const parsed = parseConfiguration(observed.spec);
    const settings = await settingsNow(target, cluster);
    const findings = {
      problems: parsed.ok ? [] : parsed.problems.map(({ field, message }) => `${field}: ${message}`),
      notes: notesOn(settings),
      trials: await tryPermissions(cluster, settings),
      called: target.state.called.has(target.name),
    };
    for (const action of reportConditions(observed, findings, target.platform.now())) {
      await cluster.act(action, settings);
    }
  } catch (error) {
    target.logFailure("reporting on the LifeboatConfiguration", error);
  }
}

/** What keeps them from being read is among what is tried. */
async function settingsNow(target: Target, cluster: Cluster): Promise<Settings> {
  try {
    return (await target.settings(cluster, true)).settings;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return target.state.settings.last(target.name) ?? DEFAULT_SETTINGS;
  }
}
