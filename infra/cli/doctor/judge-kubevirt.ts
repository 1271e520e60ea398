/** KubeVirt: whether it is there, new enough, and set so that VMs can leave a node. */
import { failsClosed } from "../../../shared/policy/budget/budget-mode.ts";
import { KUBEVIRT_WEBHOOKS } from "../../../shared/policy/names.ts";
import { DEFAULT_SETTINGS } from "../../../shared/policy/settings.ts";
import { isOld, OLDEST } from "../../../shared/policy/versions.ts";
import { failed, type Finding, judged, ok, valueOf, warning } from "./check.ts";
import { API, type Facts, type KubeVirtSeen } from "./facts.ts";

const KINDS = ["kubevirts", "virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"];
const INSTALL = "https://kubevirt.io/user-guide/cluster_admin/installation/";

export function isKubeVirtServed({ served }: Facts): boolean {
  return valueOf(served)?.has(API.kubevirt) !== false;
}

export function judgeKubeVirt(facts: Facts): readonly Finding[] {
  const kinds = judged("what the API server serves", facts.served, (served) => {
    const missing = KINDS.filter((kind) => served.get(API.kubevirt)?.includes(kind) !== true);
    if (missing.length === 0) return ok(`${API.kubevirt} is served`);
    const which = missing.length === KINDS.length ? API.kubevirt : `${API.kubevirt}: ${missing.join(", ")}`;
    const reason = `KubeVirt is not installed, or this is the wrong cluster: context "${facts.context}", ${facts.server}`;
    return failed(`${which} is not served`, reason, `lifeboat doctor --context NAME; to install KubeVirt: ${INSTALL}`);
  });
  if (!isKubeVirtServed(facts)) return kinds;
  return [
    ...kinds,
    ...judged("the KubeVirt object", facts.kubevirt, (kubevirt) =>
      kubevirt === undefined
        ? failed("there is no KubeVirt object", "KubeVirt's operator installs nothing without one", INSTALL)
        : JUDGES.map((judge) => judge(kubevirt)),
    ),
    ...judgeReviewers(facts),
  ];
}

const JUDGES: readonly ((kubevirt: KubeVirtSeen) => Finding)[] = [version, limits, strategy, updates];

function version({ version: text, facts: { minor } }: KubeVirtSeen): Finding {
  const needs = `(needs 1.${OLDEST.kubevirt})`;
  if (minor === undefined) {
    const reason = text === "" ? "the KubeVirt object does not say it" : `"${text}" is a build from a branch`;
    return warning(`KubeVirt's version is unknown ${needs}`, reason);
  }
  if (!isOld("kubevirt", minor)) return ok(`KubeVirt is ${text} ${needs}`);
  const reason = "Lifeboat is neither made for older versions nor tested with them";
  const fix = "https://kubevirt.io/user-guide/cluster_admin/updating_and_deletion/";
  return failed(`KubeVirt is ${text}, too old ${needs}`, reason, fix);
}

function limits({ facts, name, bandwidthPerMigration }: KubeVirtSeen): Finding {
  const { parallelMigrationsPerCluster: all, parallelOutboundMigrationsPerNode: each } = {
    ...DEFAULT_SETTINGS.limits,
    ...facts,
  };
  const isUnlimited = ["", "0", "0Mi"].includes(bandwidthPerMigration);
  const bandwidth = isUnlimited ? "no limit of bandwidth" : `${bandwidthPerMigration} a second each`;
  const message = `${all} migrations at a time, ${each} from a node, ${bandwidth}`;
  if (all > 0 && each > 0) return ok(message);
  const migrations = { parallelMigrationsPerCluster: 5, parallelOutboundMigrationsPerNode: 2 };
  return failed(message, "no migration ever begins", patchOf(facts.namespace, name, { migrations }));
}

const STRATEGIES = ["LiveMigrate", "LiveMigrateIfPossible", "External"];

function strategy({ facts: { evictionStrategy = "", namespace }, name }: KubeVirtSeen): Finding {
  if (STRATEGIES.includes(evictionStrategy)) return ok(`the cluster's eviction strategy is ${evictionStrategy}`);
  const fix = patchOf(namespace, name, { evictionStrategy: "LiveMigrate" });
  const message = `the cluster's eviction strategy is ${evictionStrategy || "not set"}`;
  if (evictionStrategy === "" || evictionStrategy === "None") {
    return warning(message, "a drain shuts down VMs that have no evictionStrategy of their own", fix);
  }
  return failed(message, "Lifeboat refuses evictions of VMs while it does not know what is wanted", fix);
}

function updates({ workloadUpdateMethods: methods, facts: { namespace }, name }: KubeVirtSeen): Finding {
  if (methods.length === 0) return ok("updates of KubeVirt leave running VMs alone");
  if (methods.includes("LiveMigrate")) return ok(`updates of KubeVirt reach VMs by ${methods.join(", then ")}`);
  const body = { spec: { workloadUpdateStrategy: { workloadUpdateMethods: ["LiveMigrate", ...methods] } } };
  return warning(
    `updates of KubeVirt reach VMs by ${methods.join(", ")}`,
    "VMs that could move are evicted instead of migrated",
    `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${JSON.stringify(body)}'`,
  );
}

function patchOf(namespace: string, name: string, configuration: object): string {
  const body = JSON.stringify({ spec: { configuration } });
  return `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${body}'`;
}

function judgeReviewers({ reviewers }: Facts): readonly Finding[] {
  const webhook = `KubeVirt's own eviction webhook (${KUBEVIRT_WEBHOOKS})`;
  const budgets = "while KubeVirt cannot be asked, only Lifeboat's webhook and budgets protect VMs";
  return judged(webhook, reviewers, (webhooks) => {
    const fix = `kubectl get validatingwebhookconfiguration ${KUBEVIRT_WEBHOOKS} -o yaml`;
    if (webhooks?.some(failsClosed) === true) return ok(`${webhook} fails closed`);
    if (webhooks === undefined)
      return warning(`${webhook} is missing`, budgets, "kubectl get pods -A -l kubevirt.io=virt-operator");
    return warning(`${webhook} does not fail closed`, budgets, fix);
  });
}
