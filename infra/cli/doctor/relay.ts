/** The check of the relay: whether it is there where it is needed, and ready, which it is once each of its watches has had a list. */
import { GUARD_CAUSES, isGateOn } from "../../../shared/policy/guard/guarded.ts";
import { normalizedBase } from "../../../shared/policy/webhooks/webhook-url.ts";
import { type Check, failed, type Finding, ok, readable, warning } from "./check.ts";
import { type Reads, settingsOf } from "./reads.ts";

const INSTALL = 'infra/relay/README.md, "Install"';

export const relay: Check = {
  group: "Relay",
  about: "the relay's Deployment",
  async find(reads) {
    const inside = await readable(reads.inside);
    if (inside !== undefined) {
      return judgeReplicas("Lifeboat in the cluster, which is also the relay", "lifeboat-server", inside);
    }
    const found = await reads.relay();
    return found === undefined ? await absent(reads) : judgeReplicas("the relay", "lifeboat-relay", found);
  },
};

async function absent(reads: Reads): Promise<Finding> {
  const settings = await settingsOf(reads);
  const isGuarding = GUARD_CAUSES.some((cause) => isGateOn(cause, settings));
  const isRelieving = settings.featureGates.includes("NodePressureEvictionLiveMigration");
  const reasons = [
    ...(isGuarding ? ["the guard is on: deletions that the API server does not ask it about go unnoticed"] : []),
    ...(isRelieving ? ["node pressure is looked at every ten minutes only, which is too late"] : []),
  ];
  if (reasons.length > 0) return failed("there is no relay", reasons, INSTALL);
  return ok("there is no relay, and nothing that is on needs one");
}

type Deployment = NonNullable<Awaited<ReturnType<Reads["relay"]>>>;

function judgeReplicas(what: string, name: string, { wanted, available, message }: Deployment): Finding {
  const said = `${what}: ${available} of ${wanted} replicas are available`;
  if (available >= wanted && available > 0) return ok(said);
  const reason = message || "they are not ready: each of their watches needs a first list";
  const fix = `kubectl -n lifeboat-system get pods; kubectl -n lifeboat-system logs deployment/${name}`;
  return available === 0 ? failed(said, reason, fix) : warning(said, reason, fix);
}

export const relaySite: Check = {
  group: "Relay",
  about: "the relay's ConfigMap",
  async find(reads) {
    if ((await readable(reads.relay)) === undefined) return [];
    const fix = `kubectl -n lifeboat-system edit configmap lifeboat-relay; ${INSTALL}`;
    const data = await reads.site();
    if (data === undefined) return warning("the relay has no ConfigMap lifeboat-relay", "it has its address otherwise");
    const { LIFEBOAT_URL: url = "", LIFEBOAT_CLUSTER: cluster = "" } = data;
    if ([url, cluster].some((text) => /lifeboat\.example\.com|^CLUSTER$/.test(text))) {
      return failed("the relay does not know Lifeboat's address", "its ConfigMap is still the one of site.yaml", fix);
    }
    const said = `the relay delivers to ${url} (cluster ${cluster})`;
    const isSame = isPlaceOf(await readable(reads.evictionWebhook), url, cluster);
    return isSame ? ok(said) : warning(said, "the webhook leads elsewhere", fix);
  },
};

function isPlaceOf(webhook: Awaited<ReturnType<Reads["evictionWebhook"]>>, url: string, cluster: string): boolean {
  if (webhook?.base === undefined) return true;
  return normalizedBase(webhook.base) === normalizedBase(url) && webhook.cluster === cluster;
}
