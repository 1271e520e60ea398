/** Checks Lifeboat's installation: its CRDs, its relay, and the conditions of the LifeboatConfiguration. */
import { featuresOn } from "../../../shared/features.ts";
import type { Condition } from "../../../shared/kube/facts.ts";
import { durationText } from "../../../shared/settings/time.ts";
import { failed, type Finding, ok, warning } from "../../../shared/settings/finding.ts";
import { LOGS, readable } from "./check.ts";
import { RELAY_INSTALL } from "./permissions.ts";
import { isInCluster, type DoctorReads, settingsOf } from "./reads.ts";

const EDIT = "kubectl edit lifeboatconfiguration lifeboat";

export async function installed({
  lifeboatKinds,
  evictionWebhook,
  context,
  server,
}: DoctorReads): Promise<readonly Finding[]> {
  const [kinds, webhook] = [await lifeboatKinds(), await evictionWebhook()];
  if (kinds.length > 0 || webhook !== undefined) return [];
  const where = `its custom resource definitions and its webhook do not exist: context "${context}", ${server}`;
  const fix = "lifeboat install --in-cluster, or lifeboat install --worker URL";
  return [failed("Lifeboat is not installed in this cluster", where, fix)];
}

export async function lifeboatServed({ lifeboatKinds }: DoctorReads): Promise<Finding> {
  const served = await lifeboatKinds();
  const missing = ["evacuations", "nodeevacuations", "lifeboatconfigurations"].filter((kind) => !served.includes(kind));
  if (missing.length === 0) return ok("lifeboat.dev/v1alpha1 is served");
  const reason = "while Lifeboat cannot read these kinds, it refuses every eviction of a VM";
  return failed(`lifeboat.dev/v1alpha1: ${missing.join(", ")} not served`, reason, "lifeboat install");
}

const RECONCILE = 'curl -X POST -H "Authorization: Bearer $WEBHOOK_TOKEN" $LIFEBOAT/clusters/CLUSTER/reconcile';
const TYPES = ["Valid", "Permitted", "WebhookCalled", "ReviewsDecided"] as const;

/** Reports the conditions that Lifeboat's full scans have written into the LifeboatConfiguration. */
export async function reportedConditions(reads: DoctorReads): Promise<readonly Finding[]> {
  const found = await reads.configuration();
  if (found === undefined) {
    const reason = "without this object, Lifeboat reports no conditions: kubectl explain lifeboatconfiguration";
    return [ok("there is no LifeboatConfiguration: the defaults are in force", [reason])];
  }
  const wanted = [...TYPES, "CredentialsValid", ...((await isInCluster(reads)) ? ["CertificateValid"] : [])];
  const missing = wanted.filter((type) => !found.conditions.some((one) => one.type === type));
  const findings = (await Promise.all(TYPES.map((type) => conditionOf(type, reads)))).flat();
  if (missing.length === 0) return findings;
  const [starter, fix] = (await isInCluster(reads)) ? ["Lifeboat", LOGS] : ["the Worker's schedule", RECONCILE];
  const reason = `no full scan has reported yet: ${starter} starts a full scan every ten minutes`;
  return [...findings, warning(`not reported yet: ${missing.join(", ")}`, reason, fix)];
}

/** The fixes for each condition. The first fix is for Lifeboat in the cluster, and the second fix is for a Worker. */
const FIXES = {
  Valid: [EDIT, EDIT],
  Permitted: ["lifeboat install", "lifeboat install"],
  WebhookCalled: ["lifeboat install", "lifeboat install --worker URL"],
  CredentialsValid: [LOGS, "infra/kubernetes/README.md#rotate says how to give the Worker another token"],
  ReviewsDecided: [LOGS, "npx wrangler tail"],
  CertificateValid: ["lifeboat install", "lifeboat install"],
  GuardHolds: ["lifeboat install", "lifeboat install"],
} as const satisfies Record<Condition["type"], readonly [string, string]>;

/** Reports a condition. Returns nothing if no full scan has written the condition. */
export async function conditionOf(type: Condition["type"], reads: DoctorReads): Promise<readonly Finding[]> {
  const [found, inside] = [await reads.configuration(), await isInCluster(reads)];
  const condition = found?.conditions.find((one) => one.type === type);
  if (found === undefined || condition === undefined) return [];
  const { status, reason, message, lastTransitionTime, observedGeneration } = condition;
  const age = durationText((reads.now.getTime() - Date.parse(lastTransitionTime)) / 1000);
  const said = `condition ${type} is ${status} (${reason}) for ${age}`;
  const fix = FIXES[type][inside ? 0 : 1];
  if (status === "False") return [failed(said, message, fix)];
  if (observedGeneration < found.generation) {
    return [
      warning(
        said,
        "the configuration has changed since this condition was written: the next full scan updates the condition",
      ),
    ];
  }
  if (status === "Unknown") return [warning(said, message)];
  if (reason === "ExpiresSoon") return [warning(said, message, fix)];
  // Leaves out the first part of the message, which is a summary.
  return [ok(said, message.split("; ").slice(1))];
}

/**
 * Checks whether the relay's replicas are ready. A replica is ready when it has the first list of each watch. A missing
 * relay is a failure only if an enabled feature needs the relay.
 */
export async function relay(reads: DoctorReads): Promise<Finding> {
  const inside = await readable(reads.inside);
  if (inside !== undefined) {
    return replicas("Lifeboat's Deployment, which includes the relay", "lifeboat-server", inside);
  }
  const found = await reads.relay();
  if (found !== undefined) return replicas("the relay", "lifeboat-relay", found);
  const reasons = featuresOn(await settingsOf(reads)).flatMap(({ withoutRelay }) => withoutRelay ?? []);
  if (reasons.length === 0) return ok("there is no relay, and no enabled feature needs a relay");
  return failed("there is no relay", reasons, RELAY_INSTALL);
}

type Deployment = NonNullable<Awaited<ReturnType<DoctorReads["relay"]>>>;

function replicas(what: string, name: string, { wanted, available, message }: Deployment): Finding {
  const said = `${what}: ${available} of ${wanted} replicas are available`;
  if (available >= wanted && available > 0) return ok(said);
  const reason =
    message ||
    "the replicas are not ready: each replica needs a first list for every watch. The logs say what is missing";
  const fix = `kubectl -n lifeboat-system get pods; kubectl -n lifeboat-system logs deployment/${name}`;
  return available === 0 ? failed(said, reason, fix) : warning(said, reason, fix);
}

/** Reports the relay's ConfigMap if the ConfigMap still has the placeholder values of site.yaml. */
export async function relaySite(reads: DoctorReads): Promise<readonly Finding[]> {
  const data = (await readable(reads.relay)) && (await reads.site());
  const isShipped = Object.values(data ?? {}).some((text) => /lifeboat\.example\.com|^CLUSTER$/.test(text));
  if (!isShipped) return [];
  const fix = "kubectl -n lifeboat-system edit configmap lifeboat-relay";
  return [
    failed(
      "the relay does not know Lifeboat's address",
      "its ConfigMap still has the example values of site.yaml",
      fix,
    ),
  ];
}
