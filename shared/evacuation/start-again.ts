/** Starts a VM that was stopped for a NodeEvacuation. The first row of START_ROWS that applies is used. */
import { type Action, recordVmEvent } from "../kube/action.ts";
import type { EvacuationFacts } from "../kube/evacuation.ts";
import type { VirtualMachineFacts } from "../kube/node-evacuation.ts";
import { EVACUATION_MESSAGES as MESSAGES } from "./messages.ts";
import { isAnother, isOff, isWithdrawn, leftAs, type RequestCase, type Row } from "./shutdown.ts";
import { statusHeldOff, statusReleased } from "./status.ts";

export type StartRow = Row<readonly Action[]>;

/** Starts a VM that Lifeboat stopped, unless somebody else has started or changed the VM. */
// prettier-ignore
export const START_ROWS: readonly StartRow[] = [
  { asked: "stop, then start", since: "the VM runs again", so: "Lifeboat no longer starts the VM: its owner decides",
    applies: (q) => isAnother(q) && !isOff(q.f?.vmi), answer: ({ e, w }) => released(e, w.now, MESSAGES.hasStarted) },
  { asked: "stop, then start", since: "the VM's node is not schedulable yet", so: "the VM stays off",
    applies: ({ e }) => !isWithdrawn(e), answer: () => [] },
  { asked: "stop, then start", since: "the owner has deleted the VM or changed its run strategy", so: "Lifeboat does not start the VM",
    applies: (q) => vmOf(q)?.runStrategy !== leftAs(q.e), answer: ({ e, w }) => released(e, w.now, MESSAGES.ownerChanged) },
  { asked: "stop, then start", since: "the VM is still stopping", so: "Lifeboat waits, because KubeVirt refuses or drops a start request during a stop",
    applies: (q) => vmOf(q)?.isChanging === true || !isOff(q.f?.vmi), answer: () => [] },
  { asked: "stop, then start", since: "the node was uncordoned, or the NodeEvacuation has ended otherwise", so: "Lifeboat asks KubeVirt to start the VM, and after an error or a refusal asks again a minute later; an Event reports a refusal",
    applies: () => true, answer: start },
];

function vmOf({ e, w }: RequestCase): VirtualMachineFacts | undefined {
  return w.facts.get("virtualmachines", { namespace: e.namespace, name: e.spec.vmiName });
}

export function releaseStopped(q: RequestCase): readonly Action[] {
  return START_ROWS.find(({ applies }) => applies(q))?.answer(q) ?? [];
}

function released(e: EvacuationFacts, now: Date, why: string): readonly Action[] {
  return [{ verb: "WriteStatus", evacuation: e, status: statusReleased(e, now, why) }];
}

function start(q: RequestCase): readonly Action[] {
  const { e, w } = q;
  const { now } = w;
  const vm = vmOf(q);
  if (vm === undefined) return [];
  const refused: readonly Action[] = [
    recordVmEvent(vm, "StartRefused", MESSAGES.startRefusedEvent(e), e.uid),
    { verb: "WriteStatus", evacuation: e, status: statusHeldOff(e, now, MESSAGES.startRefused(e)) },
  ];
  return [{ verb: "StartVm", evacuation: e, ifRefused: refused }, ...released(e, now, MESSAGES.askedToStart)];
}
