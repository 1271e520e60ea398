/**
 * Checks Lifeboat's installation in a cluster during full scans. Reports the findings in the conditions of the
 * LifeboatConfiguration and in the log.
 */
import type { Action } from "../shared/kube/action.ts";
import { type Client, named } from "../shared/kube/client.ts";
import type { ConfigurationFacts } from "../shared/kube/schemas/lifeboat.ts";
import { ClusterError } from "../shared/kube/failures.ts";
import { HOLD_POLICIES, holdVerdict, type HoldVerdict } from "../shared/settings/holds.ts";
import { CONFIGURATION } from "../shared/kube/names.ts";
import { expiryOf, isTokenAccepted, mayI } from "../shared/kube/reviews.ts";
import type { Right } from "../shared/kube/right.ts";
import { reportConditions, reportUndecided } from "../shared/settings/conditions.ts";
import { type CredentialFacts, judgeCredential } from "../shared/settings/credential.ts";
import { featuresOn, notesOn } from "../shared/features.ts";
import { parseConfiguration } from "../shared/settings/configuration.ts";
import { DEFAULT_SETTINGS, type Settings } from "../shared/settings/settings.ts";
import {
  WEBHOOK_ENDPOINTS,
  WEBHOOK_OBJECTS,
  WEBHOOK_RESOURCES,
  webhookState,
  type WebhookState,
} from "../shared/settings/webhooks.ts";
import type { Target } from "./target.ts";
import { act } from "../shared/act/perform.ts";
import { areBudgetsWanted } from "../shared/budget/budget.ts";
import { ENDPOINT_MESSAGES as MESSAGES } from "./messages.ts";

const REPORT_SECONDS = 10;

/**
 * Updates the conditions of the LifeboatConfiguration, even after a failed scan. If the scan failed because permissions
 * are missing, a condition names the missing permissions. Never throws.
 */
export async function keepConditions(target: Target): Promise<void> {
  const { platform, state, name } = target;
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const credential = await credentialOf(target, cluster);
    const verdict = judgeCredential(credential, platform.now());
    const { ok, reason, message } = verdict;
    if (reason !== "Valid") target.log({ level: ok ? "warn" : "error", reason, message });
    if (credential.rejected) return;
    const observed = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
    const settings = await settingsNow(target, cluster);
    const installed = await readWebhooks(target, cluster, settings);
    const problems = installed.flatMap(({ problem }) => problem ?? []);
    for (const { message } of problems) target.log({ level: "error", reason: "WebhookNotCalled", message });
    // Forgets earlier calls from the API server, because only a new call proves that the webhook works again.
    if (problems.length > 0) state.called.delete(name);
    if (observed === undefined) return;
    const findings = {
      ...(await readingOf(observed, settings, cluster)),
      credential: verdict,
      webhooks: installed,
      called: state.called.has(name),
      holds: await orWhenUnread(readHolds(cluster, settings), undefined),
    };
    await write(reportConditions(observed, findings, platform.now()), target, cluster);
  } catch (error) {
    target.logFailure(MESSAGES.reportingConfiguration, error);
  }
}

async function readingOf({ spec }: ConfigurationFacts, settings: Settings, cluster: Client) {
  const parsed = parseConfiguration(spec);
  return {
    problems: parsed.problems.map(({ field, message }) => `${field}: ${message}`),
    notes: notesOn(settings),
    lacking: await missingRights(cluster, settings),
  };
}

/** Records in the LifeboatConfiguration that Lifeboat could not read the facts for a review. Never throws. */
export async function keepUndecided(target: Target, why: string): Promise<void> {
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const observed = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
    if (observed === undefined) return;
    await write(reportUndecided(observed, why, target.platform.now()), target, cluster);
  } catch (error) {
    target.logFailure(MESSAGES.reportingUndecided, error);
  }
}

async function write(actions: readonly Action[], { platform: { now } }: Target, cluster: Client): Promise<void> {
  for (const action of actions) await act(action, { cluster, now });
}

/** Reads the settings. If the read fails, returns the last known settings or the defaults. */
async function settingsNow(target: Target, cluster: Client): Promise<Settings> {
  const found = await orWhenUnread(target.settings(cluster), undefined);
  return found?.settings ?? target.state.settings.last(target.name) ?? DEFAULT_SETTINGS;
}

/**
 * Returns the expiry of Lifeboat's token, and whether the API server rejects the token. If the API server does not
 * answer, `rejected` is false.
 */
export async function credentialOf({ entry }: Target, cluster: Client): Promise<CredentialFacts> {
  return { expiresAt: expiryOf(entry.token), rejected: !(await orWhenUnread(isTokenAccepted(cluster), true)) };
}

async function orWhenUnread<T, F>(reading: Promise<T>, otherwise: F): Promise<T | F> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return otherwise;
  }
}

/** Reads Lifeboat's webhook objects. Leaves out an object that cannot be read. */
export async function readWebhooks(
  { name: cluster, entry, platform }: Target,
  client: Client,
  settings: Settings,
): Promise<readonly WebhookState[]> {
  const tokens = [entry.webhookToken].flat();
  const states = WEBHOOK_ENDPOINTS.map(async (endpoint) => {
    const read = client.get(WEBHOOK_RESOURCES[endpoint], named(WEBHOOK_OBJECTS[endpoint]));
    const expected = { endpoint, cluster, tokens, settings, ...(platform.trust && { trust: platform.trust }) };
    return await orWhenUnread(
      read.then((found) => webhookState(found, expected)),
      undefined,
    );
  });
  return (await Promise.all(states)).filter((state) => state !== undefined);
}

export async function readHolds(cluster: Client, settings: Settings): Promise<HoldVerdict | undefined> {
  const found = await Promise.all(
    HOLD_POLICIES.map(async (name) => {
      const binding = await cluster.get("validatingadmissionpolicybindings", named(name));
      return binding === undefined ? [] : [name];
    }),
  );
  return holdVerdict(new Set(found.flat()), settings);
}

function rights(verbs: string, group: string, resource: string, subresource?: string): readonly Right[] {
  return verbs.split(" ").map((verb) => ({ verb, group, resource, ...(subresource && { subresource }) }));
}

const ALWAYS = [
  ...rights("get list", "", "pods"),
  ...rights("get list", "", "nodes"),
  ...rights("list", "kubevirt.io", "kubevirts"),
  ...rights("get list create patch", "lifeboat.dev", "evacuations"),
  ...rights("patch", "lifeboat.dev", "evacuations", "status"),
  ...rights("list create patch delete", "kubevirt.io", "virtualmachineinstancemigrations"),
  ...rights("get list patch", "kubevirt.io", "virtualmachineinstances"),
  ...rights("create", "", "pods", "eviction"),
  ...rights("update", "subresources.kubevirt.io", "virtualmachineinstances", "evacuate"),
  ...rights("update", "subresources.kubevirt.io", "virtualmachineinstances", "evacuate/cancel"),
];
const BUDGETS = rights("get list create patch delete", "policy", "poddisruptionbudgets");
/**
 * Returns the permissions that Lifeboat needs but lacks. Asks the API server about each permission, because a trial
 * write could change an object.
 */
export async function missingRights(cluster: Client, settings: Settings): Promise<readonly string[]> {
  const needed = [
    ...ALWAYS,
    ...(areBudgetsWanted(settings) ? BUDGETS : []),
    ...featuresOn(settings).flatMap(({ permissions = [] }) => permissions),
  ];
  const answers = await Promise.all(needed.map((right) => mayI(right, cluster)));
  return needed.filter((_, at) => answers[at] === false).map(rightText);
}

function rightText({ verb, group, resource, subresource }: Right): string {
  return `${verb} ${[group, resource, subresource].filter(Boolean).join("/")}`;
}
