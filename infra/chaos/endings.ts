/**
 * How evacuations end, told by the records on the VMIs.
 * Owns: following the records. Does not own: watching (observer.ts).
 */
import { RECORD_ANNOTATION } from "../../shared/policy/names.ts";
import type { VirtualMachineInstance } from "../sandbox/kubevirt/resources.ts";
import type { Listener } from "./observer.ts";

/** `Withdrawn`: the record went although the VM has stayed; a later one may have taken its place. */
export type Ending = "Moved" | "Abandoned" | "Cancelled" | "Withdrawn" | "VM deleted";

export interface Endings extends Pick<Listener, "vmiChanged"> {
  /** By record id. */
  readonly all: ReadonlyMap<string, Ending>;
  /** UIDs of VMs of which an evacuation was abandoned. */
  readonly abandoned: ReadonlySet<string>;
}

export interface RecordView {
  readonly id: string;
  readonly node: string;
  readonly outcome?: string;
}

export function createEndings(): Endings {
  const all = new Map<string, Ending>();
  const abandoned = new Set<string>();

  const end = (vmi: VirtualMachineInstance, { id, outcome }: RecordView): void => {
    if (outcome === "Abandoned") abandoned.add(vmi.metadata.uid);
    if (outcome === "Abandoned" || outcome === "Cancelled") all.set(id, outcome);
  };

  return {
    all,
    abandoned,
    vmiChanged(now, before) {
      const record = now && recordOf(now);
      const earlier = before && recordOf(before);
      if (now !== undefined && record !== undefined) end(now, record);
      if (earlier === undefined || earlier.id === record?.id || all.has(earlier.id)) return;
      all.set(earlier.id, endingWithoutOutcome(earlier, now));
    },
  };
}

function endingWithoutOutcome({ node }: RecordView, vmi: VirtualMachineInstance | undefined): Ending {
  if (vmi === undefined) return "VM deleted";
  return vmi.status?.nodeName === node ? "Withdrawn" : "Moved";
}

/** As far as its end is told by it; one that nobody could read is none. */
export function recordOf({ metadata }: VirtualMachineInstance): RecordView | undefined {
  const text = metadata.annotations?.[RECORD_ANNOTATION];
  if (text === undefined) return undefined;
  const record: unknown = JSON.parse(text);
  if (typeof record !== "object" || record === null || !("id" in record) || !("node" in record)) return undefined;
  const outcome = "outcome" in record ? { outcome: String(record.outcome) } : {};
  return { id: String(record.id), node: String(record.node), ...outcome };
}
