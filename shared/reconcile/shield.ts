/** Decides on the VMs that the shield covers. */
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

/** Decides on a few VMs at a time. A failed read of one VM does not stop the other VMs. */
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
 * Reads when virt-handler was refused a shutdown of the guest. After a failed read, returns `Unknown`, so that the
 * shield ends in time.
 */
async function refusalOf(vmi: VmiFacts, { cluster, onFailure }: Observer) {
  try {
    const [refusal, migrations] = await Promise.all([readRefusal(vmi, cluster), readMigrationsOf([vmi], cluster)]);
    return { refusal, migrations };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("refused shutdowns", error);
    return { refusal: "Unknown", migrations: [] } as const;
  }
}

/** The maximum number of Events to read. virt-handler repeats one Event, and few other Events have the same reason. */
const SAMPLE = 50;

/**
 * Reads from Events when virt-handler was first and last refused to shut the guest down. `Unknown`: Lifeboat may not
 * read the Events, or they have no time.
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
