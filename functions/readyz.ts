/**
 * Whether Lifeboat could do its work in a cluster: configuration, permissions, and that KubeVirt keeps our marks.
 * Owns: the checks, and what Lifeboat has to be allowed to do, tried out without changing anything. Does not own:
 * authentication (app.ts).
 */
import type { Context } from "hono";
import type { Cluster } from "../shared/cluster/cluster.ts";
import { ClusterError } from "../shared/cluster/failure.ts";
import type { Right } from "../shared/cluster/identity-reviews.ts";
import { isAnnotating } from "../shared/policy/annotations/descheduler-annotations.ts";
import { areBudgetsWanted } from "../shared/policy/budget/budget-mode.ts";
import type { Trial } from "../shared/policy/configuration-status.ts";
import { loadDeschedulerPolicy } from "../shared/descheduling/policy-file/load-descheduler-policy.ts";
import type { LoadedSettings } from "../shared/config/load-settings.ts";
import type { ConfigProblem } from "../shared/config/problem.ts";
import { type CredentialFacts, judgeCredential } from "../shared/policy/credential.ts";
import type { Settings } from "../shared/policy/settings.ts";
import { notesOnVersions } from "../shared/policy/versions.ts";
import { credentialOf } from "./credentials.ts";
import type { Target } from "./target.ts";

const READ_SECONDS = 10;

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly field?: string;
  readonly message?: string;
}

export async function clusterReadyz(c: Context, target: Target): Promise<Response> {
  const cluster = target.connect(READ_SECONDS);
  const credential = credentialCheck(await credentialOf(target, cluster), target);
  // Everything else would be refused, too.
  if (!credential.ok) return c.json({ ready: false, checks: [credential] }, 503);
  const loaded = await target.settings(cluster, true);
  const trials = await tryPermissions(cluster, loaded.settings);
  const checks: readonly Check[] = [
    credential,
    ...checksOf("configuration", loaded.problems),
    ...(loaded.problems.length === 0 ? [{ name: "configuration", ok: true }] : []),
    ...trials.map(checkOf),
    ...(await deschedulerPolicy(cluster, loaded)),
  ];
  const ready = checks.every((one) => one.ok);
  const notes = [...loaded.notes, ...(await notesOn(cluster)), ...(await notesOnCounting(cluster))];
  return c.json({ ready, checks, ...(notes.length === 0 ? {} : { notes }) }, ready ? 200 : 503);
}

function credentialCheck(facts: CredentialFacts, { platform }: Target): Check {
  const { ok, reason, message } = judgeCredential(facts, platform.now());
  return { name: "credential", ok, ...(reason !== "Valid" && { message }) };
}

async function notesOn(cluster: Cluster): Promise<readonly string[]> {
  const found = await cluster.getMinorVersions().catch((error: unknown) => {
    if (!(error instanceof ClusterError)) throw error;
    return { kubernetes: undefined, kubevirt: undefined };
  });
  return notesOnVersions(found);
}

/** VMs are moved all the same: that is no reason not to be ready. */
async function notesOnCounting(cluster: Cluster): Promise<readonly string[]> {
  try {
    await cluster.getCounters();
    return [];
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return [`evacuations are not counted: ${error.message}`];
  }
}

/** Before there is a policy nothing is descheduled, which is no failure unless cycles are to begin by themselves. */
async function deschedulerPolicy(cluster: Cluster, { settings }: LoadedSettings): Promise<readonly Check[]> {
  const name = "deschedulerPolicy";
  if (!settings.featureGates.includes("EvictionsInBackground")) return [];
  const problems: ConfigProblem[] = [];
  const read = await tried(name, async () => {
    const loaded = await loadDeschedulerPolicy(cluster);
    const isMissing = !loaded.ok && loaded.configMap === undefined;
    if (!loaded.ok && (!isMissing || settings.descheduling.intervalSeconds > 0)) problems.push(...loaded.problems);
  });
  return problems.length === 0 ? [checkOf(read)] : checksOf(name, problems);
}

/** More nobody reads at once, and a policy may have thousands. */
const MOST_PROBLEMS = 20;

function checksOf(name: string, problems: readonly ConfigProblem[]): readonly Check[] {
  const told = problems.slice(0, MOST_PROBLEMS).map((problem) => ({ name, ok: false, ...problem }));
  const more = problems.length - told.length;
  return more === 0 ? told : [...told, { name, ok: false, message: `and ${more} more` }];
}

function checkOf({ name, problem }: Trial): Check {
  return { name, ok: problem === undefined, ...(problem === undefined ? {} : { message: problem.message }) };
}

export async function tryPermissions(cluster: Cluster, settings: Settings): Promise<readonly Trial[]> {
  const isDescheduling = settings.featureGates.includes("EvictionsInBackground");
  return [
    await tried("kubevirt", () => cluster.getKubeVirt()),
    await tried("pods", () => cluster.canList("pods")),
    await tried("nodes", () => cluster.canList("nodes")),
    await tried("evacuations", () => cluster.canList("evacuations")),
    await tried("migrations", () => cluster.canList("virtualmachineinstancemigrations")),
    await tried("budgets", () => cluster.canList("poddisruptionbudgets")),
    await triedWrites(cluster, settings),
    await tried("marking", () => cluster.proveMarking(settings)),
    ...(isAnnotating(settings) ? [await tried("annotations", () => cluster.proveAnnotating())] : []),
    ...(isDescheduling ? [await tried("descheduling", () => cluster.getDeschedulingLease())] : []),
  ];
}

function write(verbs: string, group: string, resource: string, subresource?: string): readonly Right[] {
  return verbs.split(" ").map((verb) => ({ verb, group, resource, ...(subresource && { subresource }) }));
}

/** Without which no VM moves. */
const WRITES = [
  ...write("create patch", "lifeboat.dev", "evacuations"),
  ...write("patch", "lifeboat.dev", "evacuations", "status"),
  ...write("create patch delete", "kubevirt.io", "virtualmachineinstancemigrations"),
];
const BUDGETS = write("create patch delete", "policy", "poddisruptionbudgets");

/** Asked, not tried: a write that is tried may have been one. */
async function triedWrites(cluster: Cluster, settings: Settings): Promise<Trial> {
  const name = "writing";
  const rights = areBudgetsWanted(settings) ? [...WRITES, ...BUDGETS] : WRITES;
  const lacking: string[] = [];
  const asked = await tried(name, async () => {
    const answers = await Promise.all(rights.map((right) => cluster.mayI(right)));
    lacking.push(...rights.filter((_, at) => answers[at] === false).map(textOf));
  });
  if (lacking.length === 0) return asked;
  return { name, problem: { forbidden: true, message: `the service account may not ${lacking.join(", ")}` } };
}

function textOf({ verb, group, resource, subresource }: Right): string {
  return `${verb} ${group}/${resource}${subresource === undefined ? "" : `/${subresource}`}`;
}

const FORBIDDEN = 403;

async function tried(name: string, prove: () => Promise<unknown>): Promise<Trial> {
  try {
    await prove();
    return { name };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const { failure, message } = error;
    const forbidden = failure.reason === "MarkNotKept" || (failure.reason === "Refused" && failure.code === FORBIDDEN);
    return { name, problem: { forbidden, message } };
  }
}
