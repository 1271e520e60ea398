/** The checks of the API server and of KubeVirt: there, new enough, and set so that VMs can leave a node. */
import { failsClosed } from "../../../shared/policy/budget/budget-mode.ts";
import { KUBEVIRT_WEBHOOKS } from "../../../shared/policy/names.ts";
import { DEFAULT_SETTINGS } from "../../../shared/policy/settings.ts";
import { isOld, OLDEST } from "../../../shared/policy/versions.ts";
import { type Check, failed, type Finding, ok, Unread, warning } from "./check.ts";
import type { Reads } from "./reads.ts";

const OLD = "Lifeboat is neither made for older versions nor tested with them";
const INSTALL = "https://kubevirt.io/user-guide/cluster_admin/installation/";

export const apiServerAnswers: Check = {
  group: "Kubernetes",
  about: "the API server",
  fatal: true,
  async find({ version, context, server }) {
    try {
      await version();
      return [];
    } catch (error) {
      if (!(error instanceof Unread)) throw error;
      const reasons = [error.message, `context "${context}", ${server}`];
      const fix = "kubectl config get-contexts; lifeboat doctor --context NAME";
      return failed("the API server cannot be asked", reasons, fix);
    }
  },
};

export const apiServerVersion: Check = {
  group: "Kubernetes",
  about: "the API server's version",
  async find({ version }) {
    const { text, minor } = await version();
    const needs = `(needs 1.${OLDEST.kubernetes})`;
    if (minor === undefined) return warning(`the API server is ${text} ${needs}`, "it does not say its minor version");
    if (!isOld("kubernetes", minor)) return ok(`the API server is ${text} ${needs}`);
    const fix = "https://kubernetes.io/docs/tasks/administer-cluster/cluster-upgrade/";
    return failed(`the API server is ${text}, too old ${needs}`, OLD, fix);
  },
};

const KINDS = ["kubevirts", "virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"];

export const kubevirtInstalled: Check = {
  group: "KubeVirt",
  about: "what the API server serves",
  fatal: true,
  async find({ kubevirtKinds, context, server }) {
    if ((await kubevirtKinds()).length > 0) return [];
    const reason = `KubeVirt is not installed, or this is the wrong cluster: context "${context}", ${server}`;
    const fix = `lifeboat doctor --context NAME; to install KubeVirt: ${INSTALL}`;
    return failed("kubevirt.io/v1 is not served", reason, fix);
  },
};

export const kubevirtServed: Check = {
  group: "KubeVirt",
  about: "what the API server serves",
  async find({ kubevirtKinds }) {
    const served = await kubevirtKinds();
    const missing = KINDS.filter((kind) => !served.includes(kind));
    if (missing.length === 0) return ok("kubevirt.io/v1 is served");
    return failed(`kubevirt.io/v1: ${missing.join(", ")} not served`, "this is no KubeVirt that is whole", INSTALL);
  },
};

type KubeVirtSeen = NonNullable<Awaited<ReturnType<Reads["kubevirt"]>>>;

export const kubevirtObject: Check = {
  group: "KubeVirt",
  about: "the KubeVirt object",
  async find({ kubevirt }) {
    const found = await kubevirt();
    if (found !== undefined) return [version, limits, strategy, updates].map((judge) => judge(found));
    return failed("there is no KubeVirt object", "KubeVirt's operator installs nothing without one", INSTALL);
  },
};

function version({ version: text, facts: { minor } }: KubeVirtSeen): Finding {
  const needs = `(needs 1.${OLDEST.kubevirt})`;
  if (minor === undefined) {
    const reason = text === "" ? "the KubeVirt object does not say it" : `"${text}" is a build from a branch`;
    return warning(`KubeVirt's version is unknown ${needs}`, reason);
  }
  if (!isOld("kubevirt", minor)) return ok(`KubeVirt is ${text} ${needs}`);
  const fix = "https://kubevirt.io/user-guide/cluster_admin/updating_and_deletion/";
  return failed(`KubeVirt is ${text}, too old ${needs}`, OLD, fix);
}

function limits(seen: KubeVirtSeen): Finding {
  const { limits: defaults } = DEFAULT_SETTINGS;
  const { parallelMigrationsPerCluster: all, parallelOutboundMigrationsPerNode: each } = { ...defaults, ...seen.facts };
  const isUnlimited = ["", "0", "0Mi"].includes(seen.bandwidthPerMigration);
  const bandwidth = isUnlimited ? "no limit of bandwidth" : `${seen.bandwidthPerMigration} a second each`;
  const message = `${all} migrations at a time, ${each} from a node, ${bandwidth}`;
  if (all > 0 && each > 0) return ok(message);
  const migrations = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 };
  return failed(message, "no migration ever begins", patchOf(seen, { configuration: { migrations } }));
}

const STRATEGIES = ["LiveMigrate", "LiveMigrateIfPossible", "External"];

function strategy(seen: KubeVirtSeen): Finding {
  const { evictionStrategy = "" } = seen.facts;
  const message = `the cluster's eviction strategy is ${evictionStrategy || "not set"}`;
  if (STRATEGIES.includes(evictionStrategy)) return ok(message);
  const fix = patchOf(seen, { configuration: { evictionStrategy: "LiveMigrate" } });
  if (evictionStrategy === "" || evictionStrategy === "None") {
    return warning(message, "a drain shuts down VMs that have no evictionStrategy of their own", fix);
  }
  return failed(message, "Lifeboat refuses evictions of VMs while it does not know what is wanted", fix);
}

function updates(seen: KubeVirtSeen): Finding {
  const { workloadUpdateMethods: methods } = seen;
  if (methods.length === 0) return ok("updates of KubeVirt leave running VMs alone");
  if (methods.includes("LiveMigrate")) return ok(`updates of KubeVirt reach VMs by ${methods.join(", then ")}`);
  const workloadUpdateStrategy = { workloadUpdateMethods: ["LiveMigrate", ...methods] };
  const message = `updates of KubeVirt reach VMs by ${methods.join(", ")}`;
  return warning(
    message,
    "VMs that could move are evicted instead of migrated",
    patchOf(seen, { workloadUpdateStrategy }),
  );
}

function patchOf({ facts: { namespace }, name }: KubeVirtSeen, spec: object): string {
  return `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${JSON.stringify({ spec })}'`;
}

const WEBHOOK = `KubeVirt's own eviction webhook (${KUBEVIRT_WEBHOOKS})`;

export const kubevirtWebhook: Check = {
  group: "KubeVirt",
  about: WEBHOOK,
  async find({ reviewers }) {
    const webhooks = await reviewers();
    if (webhooks?.some(failsClosed) === true) return ok(`${WEBHOOK} fails closed`);
    const budgets = "while KubeVirt cannot be asked, only Lifeboat's webhook and budgets protect VMs";
    if (webhooks === undefined) {
      return warning(`${WEBHOOK} is missing`, budgets, "kubectl get pods -A -l kubevirt.io=virt-operator");
    }
    const fix = `kubectl get validatingwebhookconfiguration ${KUBEVIRT_WEBHOOKS} -o yaml`;
    return warning(`${WEBHOOK} does not fail closed`, budgets, fix);
  },
};
