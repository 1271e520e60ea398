/** What full scans say about Lifeboat itself in a cluster: the status of the LifeboatConfiguration, and the log. */
import { type Client, named } from "../shared/kube/client.ts";
import { ClusterError } from "../shared/kube/failures.ts";
import type { ConfigurationFacts } from "../shared/kube/schemas/lifeboat.ts";
import { parseConfiguration } from "../shared/settings/lifeboat-configuration.ts";
import { notesOn } from "../shared/settings/merge-settings.ts";
import { reportConditions, reportUndecided } from "../shared/settings/conditions.ts";
import type { Action } from "../shared/kube/action.ts";
import { CONFIGURATION } from "../shared/kube/names.ts";
import { act } from "../shared/evacuation/act.ts";
import { type CredentialVerdict, judgeCredential } from "../shared/settings/credential.ts";
import { DEFAULT_SETTINGS, type Settings } from "../shared/settings/settings.ts";
import type { Comparison } from "../shared/settings/webhooks.ts";
import { credentialOf, logCredential, logWebhooks, lookAtWebhooks } from "./installation.ts";
import { tryPermissions } from "./permissions.ts";
import type { Target } from "./target.ts";

const REPORT_SECONDS = 10;

/** Also after a scan that has failed: a permission may be missing. Never throws. */
export async function keepConditions(target: Target): Promise<void> {
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const credential = await credentialOf(target, cluster);
    logCredential(credential, target);
    // Nothing can be read or written then: the log, the metrics and /readyz say so.
    if (credential.rejected) return;
    const observed = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
    const settings = await settingsNow(target, cluster);
    const webhooks = await lookAtWebhooks(target, cluster, settings);
    logWebhooks(webhooks, target);
    // It has to be called once more before that counts.
    if (webhooks.some(({ problems }) => problems.length > 0)) target.state.called.delete(target.name);
    if (observed === undefined) return;
    const verdict = judgeCredential(credential, target.platform.now());
    await report(observed, { target, cluster, settings, webhooks, credential: verdict });
  } catch (error) {
    target.logFailure("reporting on the LifeboatConfiguration", error);
  }
}

interface Found {
  readonly target: Target;
  readonly cluster: Client;
  readonly settings: Settings;
  readonly credential: CredentialVerdict;
  readonly webhooks: readonly Comparison[];
}

async function report(observed: ConfigurationFacts, found: Found): Promise<void> {
  const { target, cluster, settings, credential } = found;
  const parsed = parseConfiguration(observed.spec);
  const findings = {
    problems: parsed.ok ? [] : parsed.problems.map(({ field, message }) => `${field}: ${message}`),
    notes: notesOn(settings),
    trials: await tryPermissions(cluster, settings),
    credential,
    webhooks: found.webhooks,
    called: target.state.called.has(target.name),
  };
  await write(reportConditions(observed, findings, target.platform.now()), target, cluster);
}

async function write(actions: readonly Action[], { platform: { now } }: Target, cluster: Client): Promise<void> {
  for (const action of actions) await act(action, { cluster, now });
}

/** What keeps them from being read is among what is tried. */
async function settingsNow(target: Target, cluster: Client): Promise<Settings> {
  try {
    return (await target.settings(cluster)).settings;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return target.state.settings.last(target.name) ?? DEFAULT_SETTINGS;
  }
}

/** Never throws. Where there is no LifeboatConfiguration, or nothing answers, only the log has it. */
export async function keepUndecided(target: Target, why: string): Promise<void> {
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const observed = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
    if (observed === undefined) return;
    await write(reportUndecided(observed, why, target.platform.now()), target, cluster);
  } catch (error) {
    target.logFailure("reporting a review that was left undecided", error);
  }
}
