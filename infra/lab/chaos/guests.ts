/** Determines what happened to each guest of a run, and reports each guest that ended without a reason. */
import { isFinal, keyOf, LABEL, type VirtualMachineInstance as Vmi } from "../../sandbox/index.ts";
import { guestRuns, mayStop } from "../stage/fates.ts";
import { viewOfVmi, type World } from "../stage/world.ts";
import type { Listener, Observer } from "./observer.ts";

/** `checkGuests` explains `failedByKubevirt`. */
export type Fate = "moved" | "stayed" | "shutDown" | "deleted" | "failedByKubevirt" | "lost";

/** Keys of the VMs whose guests may end, by the reason. */
export interface Ends {
  readonly deleted: ReadonlySet<string>;
  readonly failedByKubevirt: ReadonlySet<string>;
}

/** Returns the fate of each VM, by its key. */
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
 * Checks that a guest ends only if its owner deletes the VM or the VM's strategy lets the guest stop. Ignores VMIs that
 * virt-controller set to Failed while their launchers run: after an outage, virt-controller may get the moved VMI
 * before the new pod (`updateStatus`, "because pod does not exist").
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

/** Returns whether the real virt-controller set the phase Failed although the launcher still runs. */
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
