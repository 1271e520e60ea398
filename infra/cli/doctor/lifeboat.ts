/** The checks of what is installed of Lifeboat: its kinds, what its conditions say, the guard and the shield. */
import type { Condition } from "../../../shared/policy/configuration-status.ts";
import { durationText } from "../../../shared/policy/duration-text.ts";
import { GUARD_CAUSES, isGateOn } from "../../../shared/policy/guard/guarded.ts";
import { isShieldOn, isShieldWanted } from "../../../shared/policy/shield/shield.ts";
import { type Check, failed, type Finding, ok, readable, warning } from "./check.ts";
import { isInCluster, type Reads, settingsOf } from "./reads.ts";

export const LOGS = "kubectl -n lifeboat-system logs deployment/lifeboat-server";
const EDIT = "kubectl edit lifeboatconfiguration lifeboat";

export const installed: Check = {
  group: "Lifeboat",
  about: "whether Lifeboat is installed",
  fatal: true,
  async find(reads) {
    const { lifeboatKinds, evictionWebhook, context, server } = reads;
    const [kinds, webhook] = [await lifeboatKinds(), await evictionWebhook()];
    if (kinds.length > 0 || webhook !== undefined) return [];
    const where = `there are neither its kinds nor its webhook: context "${context}", ${server}`;
    const fix = 'lifeboat install --worker URL; or infra/kubernetes/README.md, "Install"';
    return failed("Lifeboat is not installed in this cluster", where, fix);
  },
};

export const lifeboatServed: Check = {
  group: "Lifeboat",
  about: "what the API server serves",
  async find({ lifeboatKinds }) {
    const served = await lifeboatKinds();
    const missing = ["evacuations", "lifeboatconfigurations"].filter((kind) => !served.includes(kind));
    if (missing.length === 0) return ok("lifeboat.dev/v1alpha1 is served");
    const reason = "Lifeboat refuses every eviction of a VM while it cannot read them";
    return failed(
      `lifeboat.dev/v1alpha1: ${missing.join(", ")} not served`,
      reason,
      "kubectl apply -f infra/kubernetes/crds",
    );
  },
};

/** What Lifeboat's full scans have written about themselves into the LifeboatConfiguration, and how long ago that became so. */
export const conditions: Check = {
  group: "Lifeboat",
  about: "the LifeboatConfiguration",
  async find(reads) {
    const found = await reads.configuration();
    if (found === undefined) {
      const fix = "kubectl apply -f infra/kubernetes/optional/configuration/configuration.yaml";
      const reason = "the defaults are in force, and no conditions say how Lifeboat is";
      return warning("there is no LifeboatConfiguration", reason, fix);
    }
    const types = ["Ready", "Permitted", "WebhookCalled", "ReviewsDecided"] as const;
    return (await Promise.all(types.map((type) => conditionOf(type, reads)))).flat();
  },
};

export const credentialsCondition: Check = {
  group: "Credentials",
  about: "the LifeboatConfiguration",
  find: async (reads) => ((await readable(reads.configuration)) ? await conditionOf("CredentialsValid", reads) : []),
};

const RECONCILE = 'curl -X POST -H "Authorization: Bearer $WEBHOOK_TOKEN" $LIFEBOAT/clusters/CLUSTER/reconcile';

const FIXES = {
  Ready: () => EDIT,
  Permitted: () => "lifeboat install",
  WebhookCalled: (inside) => `lifeboat install${inside ? "" : " --worker URL"}`,
  CredentialsValid: (inside) => (inside ? LOGS : "lifeboat rotate"),
  ReviewsDecided: (inside) => (inside ? LOGS : "npx wrangler tail"),
} as const satisfies Record<Condition["type"], (inside: boolean) => string>;

async function conditionOf(type: Condition["type"], reads: Reads): Promise<readonly Finding[]> {
  const [found, inside] = [await reads.configuration(), await isInCluster(reads)];
  if (found === undefined) return [];
  const condition = found.conditions.find((one) => one.type === type);
  if (condition === undefined) {
    const reason = "no full scan has reported yet: they run every ten minutes";
    const [where, fix] = inside ? ["", LOGS] : [" where the Worker's schedule does", RECONCILE];
    return [warning(`condition ${type} is missing`, `${reason}${where}`, fix)];
  }
  const { status, reason, message, lastTransitionTime, observedGeneration } = condition;
  const age = durationText((reads.now.getTime() - Date.parse(lastTransitionTime)) / 1000);
  const said = `condition ${type} is ${status} (${reason}) for ${age}`;
  const fix = FIXES[type](inside);
  if (status === "False") return [failed(said, message, fix)];
  if (observedGeneration < found.generation) {
    return [warning(said, "it is about the configuration before its last change: the next full scan updates it")];
  }
  if (status !== "True" || reason === "ExpiresSoon") return [warning(said, message, fix)];
  const remarks = remarksIn(message);
  return [remarks.length === 0 ? ok(said) : warning(said, remarks, fix)];
}

/** A condition that is True may go on to say what is not as it should be. */
function remarksIn(message: string): readonly string[] {
  // That the shield is in force is as it should be; where a Service leads to, a dry-run eviction shows.
  return message
    .split("; ")
    .slice(1)
    .filter((remark) => !/ is in force|cannot be seen/.test(remark));
}

export const guard: Check = {
  group: "Lifeboat",
  about: "webhook lifeboat-guard",
  async find(reads) {
    const settings = await settingsOf(reads);
    const causes = GUARD_CAUSES.filter((cause) => isGateOn(cause, settings));
    const isInstalled = (await reads.guardWebhook()) !== undefined;
    // Where it is missing, WebhookCalled says so.
    if (causes.length > 0) return isInstalled ? ok(`the guard refuses deletions: ${causes.join(", ")}`) : [];
    return isInstalled
      ? warning("the guard is installed and refuses nothing", "none of its feature gates is on", EDIT)
      : ok("the guard is off");
  },
};

export const shield: Check = {
  group: "Shield",
  about: "Plugin lifeboat-shield",
  async find(reads) {
    const [settings, hasPlugin] = [await settingsOf(reads), await reads.hasPlugin()];
    const seconds = settings.shield.maxPodGracePeriodSeconds;
    if (isShieldOn(settings)) return ok(`the shield is on: VMs have ${seconds} s to move after SIGTERM`);
    // What it lacks, Ready says.
    if (isShieldWanted(settings) || seconds > 0) return [];
    if (!hasPlugin) return ok("the shield is off");
    const reason = "shield.maxPodGracePeriodSeconds is 0, so the Plugin covers no VM";
    const message = "Plugin lifeboat-shield is installed and the shield is off";
    return warning(message, reason, "kubectl delete plugin lifeboat-shield");
  },
};
