/**
 * Decides about VMs with the shield label. Because of this label, the KubeVirt plugin lifeboat-shield refuses
 * virt-handler's attempts to shut the guest down. If the value of the label is `over`, the plugin does not refuse them.
 */
import type { Plans } from "../kube/action.ts";
import { type Client, named } from "../kube/client.ts";
import { ClusterError, isForbidden } from "../kube/failures.ts";
import type { VmiFacts } from "../kube/facts.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import { SHIELD_LABEL, SHIELD_PLUGIN } from "../kube/names.ts";
import { shield } from "../shield/feature.ts";
import { isCheckDue, type RefusedShutdown, type Shielded } from "../shield/shield.ts";
import { eachOf } from "../act/each-of.ts";
import { readMigrationsOf } from "../kube/requests.ts";
import type { Observer } from "../settings/load-settings.ts";

/** Decides about a few VMs at a time. If the read of one VM fails, the other VMs are not affected. */
export async function decideOnShield(evacuations: readonly EvacuationFacts[], observer: Observer): Promise<Plans> {
  const { cluster, settings, now } = observer;
  const vmis = await cluster.list("virtualmachineinstances", { labels: { [SHIELD_LABEL]: true } });
  const names = [...new Set(vmis.flatMap(({ nodeName }) => nodeName ?? []))];
  const read = await eachOf(names, (name) => cluster.get("nodes", named(name)));
  const nodes = new Map(read.results.map((node) => [node?.name, node]));
  const { results: shielded } = await eachOf(vmis, async (vmi): Promise<Shielded> => {
    const more = isCheckDue(vmi, observer) ? await refusalOf(vmi, observer) : { migrations: [] };
    return { vmi, node: nodes.get(vmi.nodeName), ...more };
  });
  return [{ name: shield.name, ...shield.plan({ settings, now, vmis: [], evacuations, pressured: [], shielded }) }];
}

/**
 * Reads the times at which the shield refused virt-handler's attempts to shut the guest down. Returns `Unknown` if the
 * read fails, so that the shield still ends in time.
 */
async function refusalOf(vmi: VmiFacts, { cluster, onFailure }: Observer) {
  try {
    const [refusal, migrations] = await Promise.all([readRefusal(vmi, cluster), readMigrationsOf([vmi], cluster)]);
    return { refusal, migrations };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("reading refused shutdowns", error);
    return { refusal: "Unknown", migrations: [] } as const;
  }
}

/**
 * The maximum number of Events to read. virt-handler updates the same Event each time, and few other Events have the
 * same reason.
 */
const SAMPLE = 50;

/**
 * Reads the first and the last time at which the shield refused to let virt-handler shut the guest down. Returns
 * `Unknown` if Lifeboat may not read the Events or if they contain no time.
 */
export async function readRefusal(
  { namespace, uid }: VmiFacts,
  cluster: Client,
): Promise<RefusedShutdown | "Unknown" | undefined> {
  const fields = { "involvedObject.uid": uid, reason: "SyncFailed" };
  try {
    const events = await cluster.list("events", { namespace, fields, limit: SAMPLE });
    const refusals = events.filter(({ message }) => message.includes(`plugin ${SHIELD_PLUGIN}`));
    const times = refusals.filter(({ first, last }) => first && last);
    if (times.length === 0) return refusals.length === 0 ? undefined : "Unknown";
    return {
      first: Math.min(...times.map(({ first }) => first)),
      last: Math.max(...times.map(({ last }) => last)),
    };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return "Unknown";
  }
}
