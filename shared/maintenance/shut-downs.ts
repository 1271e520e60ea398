/** Guests that end because the node is emptied: who they are, and how each has ended. No guest ends without being counted and named. */
import { keyOf } from "../kube/objects.ts";
import { NODE_EVACUATION_BOUNDS as BOUNDS, type ShutDownVm, type VmCounts } from "../kube/node-evacuation.ts";
import { vmOf, type VmView } from "./vms.ts";
import type { NodeWorld } from "./world.ts";

type Seen = Pick<NodeWorld, "ne" | "vmis" | "gone" | "now">;

/** VMs that their evictions shut down. A VM that has moved instead is forgotten. */
export function shutDownsOf(views: readonly VmView[], { ne, vmis, gone, now }: Seen): readonly ShutDownVm[] {
  const here = new Set(vmis.map(({ uid }) => uid));
  const before = ne.status.shutDowns.flatMap((one): readonly ShutDownVm[] => {
    if (one.time !== undefined || here.has(one.uid)) return [one];
    const fate = gone.get(one.uid);
    if (fate === "Moved") return [];
    return [fate === "Ended" ? { ...one, time: now.toISOString() } : one];
  });
  const known = new Set(before.map(({ uid }) => uid));
  const going = views.filter(({ fate, vmi }) => fate === "Goes" && !known.has(vmi.uid));
  return [...before, ...going.map(({ vmi: { namespace, name, uid } }) => ({ namespace, name, uid }))].slice(
    0,
    BOUNDS["status.shutDowns"],
  );
}

const MOST_NAMES = 5;

/** Empty: no guest has ended. */
export function endedText(
  { restarted, stopped, shutDown }: VmCounts,
  w: Pick<NodeWorld, "ne" | "evacuations">,
): string {
  const ended = (phase: string) => w.evacuations.filter(({ status }) => status.phase === phase).map(vmOf);
  const shut = w.ne.status.shutDowns.filter(({ time }) => time !== undefined).map(keyOf);
  const rows = [
    [restarted, "restarted", ended("Restarted")],
    [stopped, "stopped", ended("Stopped")],
    [shutDown, "shut down by their strategy", shut],
  ] as const;
  return rows.flatMap(([count, how, names]) => (count > 0 ? [`${count} ${how} (${listed(names)})`] : [])).join(", ");
}

function listed(names: readonly string[]): string {
  const distinct = [...new Set(names)].toSorted();
  const more = distinct.length - MOST_NAMES;
  return `${distinct.slice(0, MOST_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
