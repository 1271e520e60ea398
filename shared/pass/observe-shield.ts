/** Observing the VMs that the shield covers. */
import { ClusterError } from "../cluster/failure.ts";
import type { EvacuationFacts, VmiFacts } from "../policy/facts.ts";
import { isDue, isShieldOn, type Shielded } from "../policy/shield/shield.ts";
import { eachOf } from "./perform.ts";
import { NO_WORLD, type Observer, type World } from "./world.ts";

/** `evacuations`: those that have not ended, at least. */
export async function observeShield(evacuations: readonly EvacuationFacts[], observer: Observer): Promise<World> {
  const { cluster, settings, now } = observer;
  const world = { ...NO_WORLD, settings, now, evacuations };
  if (!isShieldOn(settings)) return world;
  const vmis = await cluster.listVmis("Shielded");
  const names = [...new Set(vmis.flatMap(({ nodeName }) => nodeName ?? []))];
  const read = await eachOf(names, (name) => cluster.getNode(name));
  const nodes = new Map(read.results.map((node) => [node?.name, node]));
  const { results: shielded } = await eachOf(vmis, async (vmi): Promise<Shielded> => {
    const more = isDue(vmi, observer) ? await observeRefusal(vmi, observer) : { migrations: [] };
    return { vmi, node: nodes.get(vmi.nodeName), ...more };
  });
  return { ...world, shielded };
}

/** One namespace's trouble is no other's: there the VM is allowed to end in time. */
async function observeRefusal(vmi: VmiFacts, { cluster, onFailure }: Observer) {
  try {
    const [refusal, migrations] = await Promise.all([cluster.getRefusal(vmi), cluster.listMigrations(vmi)]);
    return { refusal, migrations };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    onFailure?.("refused shutdowns", error);
    return { refusal: "Unknown", migrations: [] } as const;
  }
}
