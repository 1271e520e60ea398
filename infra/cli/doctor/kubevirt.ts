/** Checks the API server and KubeVirt: whether they exist, are new enough, and let VMs leave a node. */
import { failsClosed } from "../../../shared/settings/guarded.ts";
import { KUBEVIRT_WEBHOOKS } from "../../../shared/kube/names.ts";
import { isOld, OLDEST } from "../../../shared/settings/versions.ts";
import { failed, type Finding, ok, warning } from "../../../shared/settings/finding.ts";
import { Unread } from "./check.ts";
import { KUBEVIRT_WEBHOOK, type DoctorReads } from "./reads.ts";

const OLD = "Lifeboat does not support older versions, and is not tested with them";
const INSTALL = "https://kubevirt.io/user-guide/cluster_admin/installation/";

export async function apiServerAnswers({ version, context, server }: DoctorReads): Promise<readonly Finding[]> {
  try {
    await version();
    return [];
  } catch (error) {
    if (!(error instanceof Unread)) throw error;
    const reasons = [error.message, `context "${context}", ${server}`];
    return [
      failed(
        "the command cannot read from the API server",
        reasons,
        "kubectl config get-contexts; lifeboat doctor --context NAME",
      ),
    ];
  }
}

export async function apiServerVersion({ version }: DoctorReads): Promise<Finding> {
  const { text, minor } = await version();
  const needs = `(needs 1.${OLDEST.kubernetes})`;
  if (minor === undefined)
    return warning(`the API server is ${text} ${needs}`, "the API server does not report its minor version");
  if (!isOld("kubernetes", minor)) return ok(`the API server is ${text} ${needs}`);
  const fix = "https://kubernetes.io/docs/tasks/administer-cluster/cluster-upgrade/";
  return failed(`the API server is ${text}, too old ${needs}`, OLD, fix);
}

export async function kubevirtServed({ kubevirtKinds, context, server }: DoctorReads): Promise<Finding> {
  const served = await kubevirtKinds();
  if (served.length === 0) {
    const reason = `KubeVirt is not installed, or this is the wrong cluster: context "${context}", ${server}`;
    const fix = `lifeboat doctor --context NAME; to install KubeVirt: ${INSTALL}`;
    return failed("kubevirt.io/v1 is not served", reason, fix);
  }
  return ok("kubevirt.io/v1 is served");
}

type KubeVirtSeen = NonNullable<Awaited<ReturnType<DoctorReads["kubevirt"]>>>;

export async function kubevirtObject({ kubevirt }: DoctorReads): Promise<readonly Finding[]> {
  const found = await kubevirt();
  if (found !== undefined) return [version(found), strategy(found), ...rollout(found)];
  return [
    failed("there is no KubeVirt object", "without a KubeVirt object, KubeVirt's operator installs nothing", INSTALL),
  ];
}

function version({ version: text, facts: { minor } }: KubeVirtSeen): Finding {
  const needs = `(needs 1.${OLDEST.kubevirt})`;
  if (minor === undefined) {
    const reason = text === "" ? "the KubeVirt object does not report a version" : `"${text}" is a build from a branch`;
    return warning(`KubeVirt's version is unknown ${needs}`, reason);
  }
  if (!isOld("kubevirt", minor)) return ok(`KubeVirt is ${text} ${needs}`);
  const fix = "https://kubevirt.io/user-guide/cluster_admin/updating_and_deletion/";
  return failed(`KubeVirt is ${text}, too old ${needs}`, OLD, fix);
}

function rollout({ facts: { namespace, isRollingOut } }: KubeVirtSeen): readonly Finding[] {
  if (isRollingOut !== true) return [];
  const reason =
    "the rollout restarts KubeVirt's components, and may also migrate VMs: drain no node until it has ended";
  return [warning("KubeVirt is being rolled out", reason, `kubectl -n ${namespace} get kubevirt,pods`)];
}

const STRATEGIES = ["LiveMigrate", "LiveMigrateIfPossible", "External"];

function strategy(seen: KubeVirtSeen): Finding {
  const { evictionStrategy = "" } = seen.facts;
  const message = `the cluster's eviction strategy is ${evictionStrategy || "not set"}`;
  if (STRATEGIES.includes(evictionStrategy)) return ok(message);
  const fix = patchOf(seen, { evictionStrategy: "LiveMigrate" });
  if (evictionStrategy === "" || evictionStrategy === "None") {
    return warning(message, "a drain shuts down VMs that have no evictionStrategy of their own", fix);
  }
  return failed(message, "Lifeboat does not know this strategy, and therefore refuses evictions of VMs", fix);
}

function patchOf({ facts: { namespace }, name }: KubeVirtSeen, configuration: object): string {
  const body = JSON.stringify({ spec: { configuration } });
  return `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${body}'`;
}

export async function kubevirtWebhook({ reviewers }: DoctorReads): Promise<Finding> {
  const webhooks = await reviewers();
  if (webhooks?.some(failsClosed) === true) return ok(`${KUBEVIRT_WEBHOOK} fails closed`);
  const what = `${KUBEVIRT_WEBHOOK} ${webhooks === undefined ? "is missing" : "does not fail closed"}`;
  const reason = "while KubeVirt's webhook does not answer, only Lifeboat's webhook and budgets protect VMs";
  const isThere = `kubectl get validatingwebhookconfiguration ${KUBEVIRT_WEBHOOKS} -o yaml`;
  return warning(what, reason, webhooks === undefined ? "kubectl get pods -A -l kubevirt.io=virt-operator" : isThere);
}
