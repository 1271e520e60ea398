/**
 * The relay: whether it is there where it is needed, and ready, which it is once each of its watches has had its first list.
 * Does not own: its deliveries, which only its metrics show.
 */
import { GUARD_CAUSES, isGateOn } from "../../../shared/policy/guard/guarded.ts";
import type { Settings } from "../../../shared/policy/settings.ts";
import { normalizedBase } from "../../../shared/policy/webhooks/webhook-url.ts";
import { failed, type Finding, judged, ok, warning } from "./check.ts";
import type { DeploymentFacts, Facts, SiteFacts } from "./facts.ts";
import { judgeGranted } from "./judge-granted.ts";
import { addressOf } from "./judge-webhooks.ts";
import { settingsOf } from "./settings.ts";

const INSTALL = 'infra/relay/README.md, "Install"';

export function judgeRelay(facts: Facts): readonly Finding[] {
  const { inside, relay } = facts;
  if ("value" in inside && inside.value !== undefined) {
    return [
      judgeReplicas("Lifeboat in the cluster, which is also the relay", "lifeboat-server", inside.value),
      ...judgeGranted("server/kubernetes/component/rbac.yaml", facts),
    ];
  }
  return judged("the relay's Deployment", relay, (found) => {
    if (found === undefined) return absent(settingsOf(facts));
    return [
      judgeReplicas("the relay", "lifeboat-relay", found),
      ...judged("the relay's ConfigMap", facts.site, (site) => judgeSite(site, facts)),
      ...judgeGranted("relay/kubernetes/rbac.yaml", facts),
    ];
  });
}

function absent(settings: Settings): Finding {
  const isGuarding = GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
  const isRelieving = settings.featureGates.includes("NodePressureEvictionLiveMigration");
  const reasons = [
    ...(isGuarding ? ["the guard is on: deletions that the API server does not ask it about go unnoticed"] : []),
    ...(isRelieving ? ["node pressure is looked at every ten minutes only, which is too late"] : []),
  ];
  if (reasons.length > 0) return failed("there is no relay", reasons, INSTALL);
  return ok("there is no relay, and nothing that is on needs one");
}

function judgeReplicas(what: string, name: string, { wanted, available, message }: DeploymentFacts): Finding {
  const said = `${what}: ${available} of ${wanted} replicas are available`;
  const reason = message || "they are not ready: each of their watches needs a first list";
  const fix = `kubectl -n lifeboat-system get pods; kubectl -n lifeboat-system logs deployment/${name}`;
  if (available === 0) return failed(said, reason, fix);
  return available < wanted ? warning(said, reason, fix) : ok(said);
}

function judgeSite(site: SiteFacts | undefined, facts: Facts): Finding {
  const fix = `kubectl -n lifeboat-system edit configmap lifeboat-relay; ${INSTALL}`;
  if (site === undefined) return warning("the relay has no ConfigMap lifeboat-relay", "it has its address otherwise");
  const { url, cluster } = site;
  if (url.includes("lifeboat.example.com") || cluster === "CLUSTER") {
    return failed("the relay does not know Lifeboat's address", "its ConfigMap is still the one of site.yaml", fix);
  }
  const address = addressOf(facts, "evictions");
  const isSame = address === undefined || (isSameBase(address.base, url) && address.cluster === cluster);
  const said = `the relay delivers to ${url} (cluster ${cluster})`;
  return isSame ? ok(said) : warning(said, "the webhook leads elsewhere", fix);
}

function isSameBase(a: string, b: string): boolean {
  return normalizedBase(a) === normalizedBase(b);
}
