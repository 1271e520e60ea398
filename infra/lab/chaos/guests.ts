/** Determines what happened to each guest of a run, and reports each guest that stopped without a reason. */
import { isFinal, keyOf, LABEL, type VirtualMachineInstance as Vmi } from "../../sandbox/index.ts";
import { guestRuns, mayStop } from "../stage/fates.ts";
import { viewOfVmi, type World } from "../stage/world.ts";
import type { Listener, Observer } from "./observer.ts";

export type Fate = "moved" | "stayed" | "shutDown" | "deleted" | "failedByKubevirt" | "lost";

/** The keys of the VMs that have ended but do not count as lost, grouped by reason. */
export interface Ends {
  readonly deleted: ReadonlySet<string>;
  readonly failedByKubevirt: ReadonlySet<string>;
}

/** Returns what happened to each VM. The keys of the map are the keys of the VMs. */
export function fatesOf(before: World, after: World, ends: Ends): ReadonlyMap<string, Fate> {
  const { deleted, failedByKubevirt } = ends;
  return new Map(
    [...before.vmis.values()].map((vmi) => {
      const now = after.vmis.get(vmi.uid);
      const fate = (): Fate => {
        if (guestRuns(now, after)) return now?.nodeName === vmi.nodeName ? "stayed" : "moved";
        if (deleted.has(vmi.key) && (now === undefined || now.deleting)) return "deleted";
        if (mayStop(vmi, now)) return "shutDown";
        return failedByKubevirt.has(vmi.key) ? "failedByKubevirt" : "lost";
      };
      return [vmi.key, fate()];
    }),
  );
}

/**
 * Checks that a guest stops only if its owner deletes the VM or the VM's strategy lets the guest stop. After an outage,
 * virt-controller can set a moved VMI to Failed although its pod runs (`updateStatus`, "because pod does not exist").
 * Does not report these VMIs, but adds their keys to `failedByKubevirt`.
 */
export function checkGuests(
  observer: Pick<Observer, "pods">,
  failedByKubevirt: Set<string>,
  report: (what: string) => void,
): Partial<Listener> {
  return {
    vmiChanged(now, before) {
      if (now === undefined || !hasEnded(now) || (before !== undefined && hasEnded(before))) return;
      if (mayStop(viewOfVmi(before ?? now), viewOfVmi(now))) return;
      if (isFailedByKubevirt(now, observer)) failedByKubevirt.add(keyOf(now));
      else report(`${keyOf(now)} has ended (${now.status?.phase}) on ${now.status?.nodeName}`);
    },
  };
}

/** Returns true if virt-controller set the phase to Failed although the virt-launcher pod still runs. */
function isFailedByKubevirt(
  { metadata: { uid, managedFields = [] }, status: of }: Vmi,
  { pods }: Pick<Observer, "pods">,
) {
  const writer = managedFields.find(({ fieldsV1 }) => "f:phase" in (fieldsV1?.["f:status"] ?? {}));
  if (of?.phase !== "Failed" || writer?.manager !== "virt-controller") return false;
  return [...pods.list()].some(({ metadata, spec, status }) => {
    const isIts = metadata.labels?.[LABEL.createdBy] === uid && spec?.nodeName === of.nodeName;
    return isIts && status?.phase === "Running" && metadata.deletionTimestamp === undefined;
  });
}

function hasEnded({ metadata, status }: Vmi): boolean {
  return isFinal(status) && metadata.deletionTimestamp === undefined;
}
