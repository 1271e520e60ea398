/**
 * POLICY.md: the rendered tables in their order, with what a table cannot say.
 * Owns: the text. Does not own: the tables (render-tables.ts).
 */
import * as annotations from "./render-annotations.ts";
import * as descheduling from "./render-descheduling.ts";
import * as guard from "./render-guard.ts";
import * as tables from "./render-tables.ts";
import { MOST_PATCHES } from "./descheduler-annotations.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";

const { evacuation, limits, guard: defaults } = DEFAULT_SETTINGS;

export function renderPolicy(): string {
  return `<!-- Rendered from the code of this folder. To update: npx vitest run test/policy -u -->

# What Lifeboat decides

A VM's strategy is its own \`spec.evictionStrategy\`, else that of the KubeVirt CR, else None. It can migrate if its condition
\`LiveMigratable\` is True. It is _marked_ if \`status.evacuationNodeName\` names the node it is on; a mark for a node that it has
left means nothing.

## Evictions

### First request

${tables.firstRequestTable()}

A value of \`evictionStrategy\` that nobody knows is refused with 429, naming field and value.

A refused VM has its disruption budget before the answer: if the next review of the same drain is lost on its way, the budget
refuses the eviction.

### Later requests, on a marked VM

${tables.laterRequestTable()}

A budget is believed only if it is shown to refuse: exactly one selects the pod, its status is up to date, it allows no
disruption, and it will not allow one when another pod of its own becomes ready.

### Before any of this

- Let through: a pod that is gone, completed or no launcher; one whose VM is gone, made anew, being deleted or final.
- A hotplug pod of a live VM: 429, whatever the strategy.
- A launcher pod on another node than its VM (the target of a migration), or not among the VM's pods: 429, never a mark;
  unless the strategy is None.
- After an evacuation that was abandoned or cancelled: 429 saying so, until its back-off has passed.
- Dry run: the same answer, and nothing is written.

## Disruption budgets

\`minAvailable\` of the one PodDisruptionBudget of each VM:

${tables.budgetTable()}

A VM that is being deleted or final has none; one with a strategy that nobody knows has one. With 1 a ready target makes the
source evictable. So it grows before the VM is marked, because whoever sees the mark may migrate it, and has been seen to have
grown before a migration is created; it shrinks when one ready pod is left and, after an evacuation that ended without a move,
its back-off has passed. Lifeboat's yields to KubeVirt's own (1.5 and older); anybody else's is not touched.

## Evacuations

${tables.stageTable()}

- At most ${limits.parallelMigrationsPerCluster} migrations are unfinished in the cluster and ${limits.parallelOutboundMigrationsPerNode} from a node, unless the KubeVirt CR says otherwise. Everybody's count.
- Urgent ones come first, then whoever has waited longest.
- After a failed attempt: ${tables.backoffSteps()}. After ${evacuation.maxAttempts} the evacuation is abandoned; a new one can be
  requested when the last back-off has passed.
- A cancelled one starts the back-off too. It cannot be cancelled while the node carries the drain taint.

## Descheduler annotations

With the gate \`DeschedulerSupport\`, on launcher pods, beginning with \`descheduler.alpha.kubernetes.io/\`:

${annotations.annotationTable()}

- A failed attempt changes nothing: what counts is the mark, so that the descheduler waits while there is another one. The drain
  taint alone is no mark.
- \`reconcilers.annotations\`: Enabled adds at once; Auto (the default) leaves KubeVirt ${evacuation.adoptSeconds} s (\`evacuation.adoptSeconds\`), from the
  pod's creation or from the record's, and adds what is missing then. KubeVirt removes by the same rules.
- The annotation goes before the label of the evacuation does. What cannot be taken off keeps the label until the pod has
  ended, or the back-off is over.
- At most ${MOST_PATCHES} pods are patched at a time, those of evacuations first.

## Deletions that do not ask

The scheduler preempts a pod, or the taint manager removes it from its node: both write the condition \`DisruptionTarget\` and
delete it. With the gate on, the deletion is held at admission while the VM moves.

${guard.disruptionTable()}

${guard.guardTable()}

A hotplug pod follows its VM. The target of a migration is held like the pod that the guest runs in, for the guest may come over before
the target has ended; nothing is marked until the VM is there.

### Let go at once

${guard.releaseTable()}

### A taint that is gone

The taint manager goes on deleting when the taint has been removed. At every look, at the deadline too, the node is read again:
if it lives and carries no \`NoExecute\` taint any more that the pod does not tolerate, the deletion is denied at once, and the
evacuation ends as withdrawn. A migration that runs by then is left to finish.

### The deadline

- It counts from the condition, and stands in \`spec.deadline\` of the Evacuation that begins with the hold; the earlier one counts. A
  time in the future does not extend it.
- The first sighting needs the condition to be True. From then on the Evacuation counts: kube-controller-manager resets the
  condition after 120 s.
- Where the VM is being evacuated already, that goes on. The Evacuation of the disruption ends as its Duplicate, and its deadline
  counts.
- Pods that are preempted on one node share the earliest deadline, so that the preemptor does not wait for the sum. \`NoExecute\`
  taints are each pod's own.
- It stays if the evacuation ends without a move. A new one begins with the next deletion after the back-off, if there is time left.
- The taint manager tries five times and never again. If the taint is still there and untolerated, Lifeboat deletes the pod at
  the deadline; not if the evacuation has been given up or cancelled by then, for then the VM stays.

### How long a deletion is held at a time

- Until 5 s before the API server would give up waiting, and never past the deadline. Then it is denied, and asked for again.
- \`guard.mode\`: Hold (the default) holds, Deny denies at once, Off does neither.
- When ${defaults.maxHolds} (\`guard.maxHolds\`) are held already, further ones are held for 1 s, and no further VM of that
  preemption is marked. What a taint drives away is marked however many there are.

### Not held, but seen

The VM of a launcher pod that is terminating with such a condition is marked if it is not: SIGTERM is on its way, so this is best
effort. A plain deletion of a pod is no request to migrate.

## Node pressure

With the gate \`NodePressureEvictionLiveMigration\`. The kubelet asks nobody, and SIGTERM cannot be taken back from outside.

While a node has MemoryPressure, DiskPressure or PIDPressure, VMs leave it: at most ${limits.parallelOutboundMigrationsPerNode} at a time, counting those that
already do; those that can migrate, by lowest priority, then by most memory beyond what they requested; and only if another
node (Ready, not cordoned, not tainted, not under pressure) has the memory free that they request. One whose last
evacuation ended without a move is left alone until its back-off has passed.

A guest that its kubelet ends, or that a node agent sees shut down, moves at once, if it runs, is not being deleted, its domain
is alive (not Shutoff, Crashed or unknown) and its launcher has been told to shut it down:

${guard.pressureTable()}

## Descheduling

A cycle of the descheduler, by its own policy file (ConfigMap \`lifeboat-descheduler\`), with the gate \`EvictionsInBackground\`. An
evacuation is in progress from the request on, until the pod is gone, the request is refused or \`maxEvacuationRequestTTL\` is over; once
\`eviction-in-progress\` on the pod confirms it, until that goes. What is in progress counts from the start of a cycle, is nominated
first, and is not requested again. The target of a migration is never nominated.

${descheduling.limitTable()}

What becomes of each nomination:

${descheduling.resultTable()}

How a cycle ends:

${descheduling.cycleEndTable()}

Of cycles at the same time, or one that has stalled and another, only one requests: each request is first reserved in the register
(ConfigMap \`lifeboat-descheduling\`) by compare-and-set, then written on the pod, then made. With the gate off a cycle is the
descheduler's without its own gate: every 429 is a failure, and nothing is in progress.

## Causes

Recorded on the VM, on its migrations, in Events and in the log. Urgent evacuations are selected by a MigrationPolicy.

${tables.causeTable()}

## Events

${tables.eventTable()}

## When nothing can be known

${tables.blindTable()}
`;
}
