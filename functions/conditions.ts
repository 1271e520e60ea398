/** What full scans find out about Lifeboat itself in a cluster, for the conditions of the LifeboatConfiguration and the log. */
import * as z from "zod/mini";
import type { Action } from "../shared/kube/action.ts";
import { type Client, named } from "../shared/kube/client.ts";
import type { ConfigurationFacts } from "../shared/kube/schemas/lifeboat.ts";
import { ClusterError, isForbidden } from "../shared/kube/failures.ts";
import { CONFIGURATION, DESCHEDULING, LIFEBOAT_NAMESPACE } from "../shared/kube/names.ts";
import type { Resource } from "../shared/kube/resources.ts";
import { expiryOf, isTokenAccepted, mayI, type Right } from "../shared/kube/reviews.ts";
import { Launcher } from "../shared/kube/schemas/kubernetes.ts";
import { reportConditions, reportUndecided, type Trial } from "../shared/settings/conditions.ts";
import { type CredentialFacts, judgeCredential } from "../shared/settings/credential.ts";
import { notesOn, parseConfiguration } from "../shared/settings/configuration.ts";
import { DEFAULT_SETTINGS, type Settings } from "../shared/settings/settings.ts";
import * as webhooks from "../shared/settings/webhooks.ts";
import type { Target } from "./target.ts";
import { kubeVirt, LAUNCHER } from "../shared/kube/requests.ts";
import { annotate } from "../shared/evacuation/manifests.ts";
import { act } from "../shared/evacuation/perform.ts";
import { areBudgetsWanted } from "../shared/budget/budget.ts";

const REPORT_SECONDS = 10;

/** Also after a scan that has failed: a permission may be missing. Never throws. */
export async function keepConditions(target: Target): Promise<void> {
  const { platform, state, name } = target;
  try {
    const cluster = target.connect(REPORT_SECONDS);
    const credential = await credentialOf(target, cluster);
    const verdict = judgeCredential(credential, platform.now());
    const { ok, reason, message } = verdict;
    if (reason !== "Valid") target.log({ level: ok ? "warn" : "error", reason, message });
    // Nothing can be read or written then: the log, the metrics and /readyz say so.
    if (credential.rejected) return;
    const observed = await cluster.get("lifeboatconfigurations", named(CONFIGURATION));
    const settings = await settingsNow(target, cluster);
    const compared = await compareWebhooks(target, cluster, settings);
    const problems = compared.flatMap((one) => one.problems);
    for (const problem of problems) target.log({ level: "error", reason: "WebhookNotCalled", message: problem });
    // It has to be called once more before that counts.
    if (problems.length > 0) state.called.delete(name);
    if (observed === undefined) return;
    const findings = {
      ...(await readingOf(observed, settings, cluster)),
      credential: verdict,
      webhooks: compared,
      called: state.called.has(name),
    };
    await write(reportConditions(observed, findings, platform.now()), target, cluster);
  } catch (error) {
    target.logFailure("reporting on the LifeboatConfiguration", error);
  }
}

/** What is wrong with what the LifeboatConfiguration says, and with what Lifeboat may do for it. */
async function readingOf({ spec }: ConfigurationFacts, settings: Settings, cluster: Client) {
  const parsed = parseConfiguration(spec);
  return {
    problems: parsed.ok ? [] : parsed.problems.map(({ field, message }) => `${field}: ${message}`),
    notes: notesOn(settings),
    trials: await tryPermissions(cluster, settings),
  };
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

async function write(actions: readonly Action[], { platform: { now } }: Target, cluster: Client): Promise<void> {
  for (const action of actions) await act(action, { cluster, now });
}

/** What keeps them from being read is among what is tried. */
async function settingsNow(target: Target, cluster: Client): Promise<Settings> {
  const found = await orWhenUnread(target.settings(cluster), undefined);
  return found?.settings ?? target.state.settings.last(target.name) ?? DEFAULT_SETTINGS;
}

/** An API server that does not answer has not rejected anything. */
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

/** The webhook objects that make the API server ask Lifeboat, beside what they should be. */
export async function compareWebhooks(
  { name, entry, publicUrl }: Target,
  cluster: Client,
  settings: Settings,
): Promise<readonly webhooks.Comparison[]> {
  const tokens = [entry.webhookToken].flat();
  return await Promise.all(
    webhooks.WEBHOOK_ENDPOINTS.map(async (endpoint) => {
      const reading = cluster.get("validatingwebhookconfigurations", named(webhooks.WEBHOOK_OBJECTS[endpoint]));
      // What cannot be read is not known to be wrong.
      const installed: webhooks.Installation = (await orWhenUnread(reading, "Unread")) ?? "Absent";
      return webhooks.compareWebhook(installed, { endpoint, cluster: name, tokens, publicUrl, settings });
    }),
  );
}

/** What Lifeboat has to be allowed to do, tried out without changing anything. */
export async function tryPermissions(cluster: Client, settings: Settings): Promise<readonly Trial[]> {
  const isListed = (resource: Resource) => () => cluster.list(resource, { limit: 1, as: z.unknown() });
  const lease = () => cluster.get("leases", { namespace: LIFEBOAT_NAMESPACE, name: DESCHEDULING });
  const isDescheduling = settings.featureGates.includes("EvictionsInBackground");
  const tried: readonly (readonly [name: string, prove: () => Promise<unknown>])[] = [
    ["kubevirt", () => kubeVirt(cluster)],
    ["pods", isListed("pods")],
    ["nodes", isListed("nodes")],
    ["evacuations", isListed("evacuations")],
    ["migrations", isListed("virtualmachineinstancemigrations")],
    ["budgets", isListed("poddisruptionbudgets")],
    ["writing", () => mayWrite(cluster, settings)],
    ...(settings.featureGates.includes("DeschedulerSupport")
      ? [["annotations", () => tryAnnotating(cluster)] as const]
      : []),
    ...(isDescheduling ? [["descheduling", lease] as const] : []),
  ];
  const trials: Trial[] = [];
  for (const [name, prove] of tried) trials.push(await trialOf(name, prove));
  return trials;
}

async function trialOf(name: string, prove: () => Promise<unknown>): Promise<Trial> {
  try {
    await prove();
    return { name };
  } catch (error) {
    if (error instanceof Lacking) return { name, problem: { forbidden: true, message: error.message } };
    if (!(error instanceof ClusterError)) throw error;
    return { name, problem: { forbidden: isForbidden(error), message: error.message } };
  }
}

/** Annotates a launcher pod with nothing, as a dry run. That it is gone or has changed is an answer too: it was permitted. */
export async function tryAnnotating(cluster: Client): Promise<void> {
  const [pod] = await cluster.list("pods", { labels: LAUNCHER, as: Launcher, limit: 1 });
  if (pod === undefined) return;
  await cluster.patch("pods", pod, annotate({ verb: "AnnotatePod", pod, add: {}, remove: [] }), { dryRun: true });
}

class Lacking extends Error {
  override readonly name = "Lacking";
}

function rights(verbs: string, group: string, resource: string, subresource?: string): readonly Right[] {
  return verbs.split(" ").map((verb) => ({ verb, group, resource, ...(subresource && { subresource }) }));
}

/** Without which no VM moves. */
const WRITES = [
  ...rights("create patch", "lifeboat.dev", "evacuations"),
  ...rights("patch", "lifeboat.dev", "evacuations", "status"),
  ...rights("create patch delete", "kubevirt.io", "virtualmachineinstancemigrations"),
  ...rights("patch", "kubevirt.io", "virtualmachineinstances"),
  ...rights("create", "", "pods", "eviction"),
  ...rights("update", "subresources.kubevirt.io", "virtualmachineinstances", "evacuate"),
  ...rights("update", "subresources.kubevirt.io", "virtualmachineinstances", "evacuate/cancel"),
];
const BUDGETS = rights("get create patch delete", "policy", "poddisruptionbudgets");

/** Asked, not tried: a write that is tried may have been one. */
async function mayWrite(cluster: Client, settings: Settings): Promise<void> {
  const needed = areBudgetsWanted(settings) ? [...WRITES, ...BUDGETS] : WRITES;
  const answers = await Promise.all(needed.map((right) => mayI(right, cluster)));
  const lacking = needed.filter((_, at) => answers[at] === false).map(textOf);
  if (lacking.length > 0) throw new Lacking(`the service account may not ${lacking.join(", ")}`);
}

function textOf({ verb, group, resource, subresource }: Right): string {
  return `${verb} ${[group, resource, subresource].filter(Boolean).join("/")}`;
}
