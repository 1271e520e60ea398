/**
 * POLICY.md: the rendered tables in their order, with what a table cannot say.
 * Owns: the text. Does not own: the tables (tables.ts).
 */
import * as annotations from "./annotations.ts";
import * as descheduling from "./descheduling.ts";
import * as guard from "./guard.ts";
import * as shield from "./shield.ts";
import * as preflight from "./preflight.ts";
import * as tables from "./tables.ts";
import * as underWay from "./under-way.ts";
import { ACTIVE_PHASES, END_PHASES } from "../../../../shared/policy/evacuation/phase.ts";
import { DEFAULT_SETTINGS } from "../../../../shared/policy/settings.ts";

const { evacuation, limits, guard: defaults } = DEFAULT_SETTINGS;

export function renderPolicy(): string {
  return `<!-- Rendered from the code of this folder. To update: npx vitest run test/policy -u -->

# What Lifeboat decides

A VM's strategy is its own \`spec.evictionStrategy\`, else that of the KubeVirt CR, else None. It can migrate if its condition
\`LiveMigratable\` is True. It is _marked_ if \`status.evacuationNodeName\` names the node it is on; a mark for a node that it has
left means nothing. KubeVirt, or Lifeboat where KubeVirt does not, migrates a marked VM away.

## Evictions

### First request

${tables.firstRequestTable()}

_Evacuated_: an Evacuation is created, the VM's disruption budget grown and the VM marked, all before the answer. If the VM has
an Evacuation already, for the drain taint or by hand, the request joins it. If KubeVirt's own webhook has marked the VM first, for
the same request, Lifeboat still creates the Evacuation, which says who asked. Where a look at the
VM has begun it because of that mark, it says \`KubeVirt\`, and the next request puts its user there.

A value of \`evictionStrategy\` that KubeVirt does not know is refused with 429, naming field and value.

Where budgets are made, a refused VM has its own before the answer: if the next review of the same drain is lost on its way, the
budget refuses the eviction. Once its Evacuation is under way, a budget that was lost is made anew after the next answer.

### Later requests, on a marked VM

${tables.laterRequestTable()}

### A VM whose owner moves it

With strategy External the VM is marked, whether it can migrate or not, and everything else is up to its owner. Cluster API's provider for KubeVirt
(CAPK, since August 2026) migrates what can migrate, drains the guest and deletes the VM if that fails or takes longer than ten minutes, and reports the
Machine of a marked VM that cannot migrate as failed. So a VM that cannot migrate is never marked unless its strategy is External.

${tables.ownerTable()}

While its migration runs it takes one of its node's places under node pressure.

### Before any of this

- Allowed: a pod that is gone, completed or no launcher; one whose VM is gone, made anew, being deleted or final.
- A hotplug pod of a live VM: 429, whatever the strategy.
- A launcher pod on another node than its VM (the target of a migration), or not among the VM's pods: 429, never a mark;
  unless the strategy is None.
- After an evacuation that was abandoned or withdrawn: 429 saying so, until its back-off is over, and no new one begins. Beside
  KubeVirt's own webhook that request may mark the VM all the same; then the answer is that of a marked VM, and says so.
- Dry run: the same answer, and nothing is written.
- Warnings go with the answer, refused or not. They say that the last evacuation was abandoned or cancelled, or until when this one backs off.
  They name what blocks the VM, and who can change that. KubeVirt's webhook refuses the same request, and the API server shows only one
  refusal. It passes on the warnings of all webhooks, and kubectl prints each once.

### While something else is under way

The VM is not marked and can migrate (strategy LiveMigrate), where nothing else is said. Repeats are answered as on any marked VM.

${underWay.underWayTable()}

KubeVirt's limits do not count a decentralized migration in the phases WaitingForSync and Synchronizing, nor at its source in
Scheduling; otherwise they count it as any other, at both ends.

## Disruption budgets

\`minAvailable\` of the one PodDisruptionBudget of each VM:

${tables.budgetTable()}

- \`reconcilers.budget: Auto\` (the default) makes none where KubeVirt's own eviction webhook fails closed (in \`virt-api-validator\`:
  \`failurePolicy: Fail\`, asked about every \`pods/eviction\`) and the guard against preemption is in force: without it the scheduler
  would choose VMs first, because it prefers victims without a budget. Enabled always makes them, Disabled never. When that
  changes, budgets come and go with the next full scan.
- A VM that is being deleted or final has none; one with a strategy that KubeVirt does not know has one.
- With 1, a ready target makes the source evictable. So the budget grows before the VM is marked, because KubeVirt or the VM's owner may
  migrate it from then on. Lifeboat creates a migration only when the disruption controller has seen the new size.
- It shrinks three minutes after it was last grown and the last evacuation ended, if nothing is unfinished and one ready pod is left.
- Lifeboat resets a size that was changed by hand, replaces a budget whose owner reference was removed, and never touches the
  budgets of others.

## Evacuations

An \`Evacuation\` (\`kubectl get evacuations -A\`) says that a VM has to leave its pod, and how that goes. One that goes on:

${tables.phaseTable(ACTIVE_PHASES)}

One that has ended stays for ${evacuation.historySeconds} s (\`evacuation.historySeconds\`), or as long as it is the newest one of a pod that lives:

${tables.phaseTable(END_PHASES)}

### Which one

- Its name is that of the VM, a hash of the pod's UID, and a number that counts up: two functions that begin the same evacuation create
  one object. One that a person created may have any name, and is about the pod that the VM runs in when it is first seen.
- Of two about one pod the older goes on; the other ends as its Duplicate.
- A mark without an Evacuation gets one; an Evacuation without a mark is marked. A missing mark counts as removed
  only if the condition \`Marked\` was True and the VM was read after that.

### Attempts

- KubeVirt is the queue: it holds every migration, its own or not, until fewer than ${limits.parallelMigrationsPerCluster} run in the cluster and fewer than ${limits.parallelOutboundMigrationsPerNode} leave the
  node, unless the KubeVirt CR says otherwise. Lifeboat has no limits of its own, except under node pressure.
- KubeVirt's own migration of a marked VM is adopted: it is annotated with the cause and shown in the status. Lifeboat creates one where
  none has appeared within ${evacuation.adoptSeconds} s (\`evacuation.adoptSeconds\`; 0 where KubeVirt's evacuation controller is off). KubeVirt gives those the lowest
  priority, and lets them wait for backups.
- An attempt fails when its migration fails or cannot begin: a quota refuses its target pod; or for ${evacuation.stuckSeconds} s
  (\`evacuation.stuckSeconds\`) the scheduler has found no node for it, or a backup or a utility volume has been in its way. Until then a cluster autoscaler can add a node; the Evacuation says what is missing (reason \`NoRoom\`).
- Waiting in KubeVirt's queue is not a failure. A migration has failed to begin if KubeVirt's back-off is over and its limits were not
  reached, in every look for ${evacuation.stuckSeconds} s (condition \`Stalled\`). One that failed to begin is deleted; if a person created it, the Evacuation is Blocked (\`PersonsMigration\`).
- With strategy External the migrations are the owner's: they are shown, never counted or deleted.
- After a failed attempt: ${tables.backoffSteps()}. After ${evacuation.maxAttempts} the evacuation is abandoned and the VM unmarked. One that begins before
  the last back-off is over, because KubeVirt's webhook has marked the VM again, inherits who asked, the attempts and the back-off;
  the first failure of its own ends it.
- One that a person asks for (cause \`Operator\`) inherits nothing. Where another one of the pod is backing off, it ends as its duplicate,
  and the back-off ends with it: the next attempt begins at once. \`lifeboat retry\` creates such a one.
- KubeVirt replaces a failed migration of a marked VM at once. It delays the new one by a back-off of its own: 20 s after the failure, doubled for
  each further one. The Evacuation then says BackingOff (\`KubeVirtBackoff\`) and until when; \`evacuation.backoffSeconds\` does not change it.
  Where a person asks for an attempt now, Lifeboat annotates KubeVirt's delayed migration, and KubeVirt starts it at once.
- virt-controller has not looked at a migration that has no phase after 10 s. The Evacuation says so (\`KubeVirtNotAnswering\`).

### A migration that does not converge

Two shipped MigrationPolicies select the values of the label \`lifeboat.dev/evacuation\` on the VM. What it says after a failed attempt:

${tables.convergenceTable()}

Only a marked VM gets it, and only if there is another attempt. Lifeboat removes it when the evacuation ends.

### To cancel one

- Set \`spec.intent: Withdrawn\`, or remove the mark. KubeVirt's migration for the mark, and Lifeboat's own, is deleted unless it runs; then it is left to finish, and the Evacuation names it.
- An end has two steps: Lifeboat writes the final status, then takes back mark and migrations, unless another Evacuation of the VM goes on. The condition \`Released\` is False in between; the next tick completes what a function that died has left.
- Stop the drain first: KubeVirt's webhook marks the VM again with the drain's next request, and that begins another Evacuation.
- While the node carries KubeVirt's drain taint another one begins when the back-off is over.
- One for a taint ends by itself when the taint is gone.
- With \`evacuation.withdrawOnUncordon\` (off by default) uncordoning a node withdraws evacuations with the cause ApiEviction or DrainTaint whose migration does not run yet, unless the node carries the drain taint or the VM has to leave for another cause besides. A look must have
  found the node cordoned before (condition \`Cordoned\`): not every eviction is a drain's. A drain that still runs asks again.

${preflight.section()}
${annotations.section()}
## Deletions that do not ask

The scheduler preempts a pod, or the taint manager removes it from its node: both write the condition \`DisruptionTarget\` and
delete it. Karpenter deletes the pods of a node whose termination time is near. With the gate on, the deletion is refused at
admission, with the time of the next try, while the VM moves.

${guard.disruptionTable()}

${guard.guardTable()}

A hotplug pod follows its VM. The target of a migration is refused like the pod that the guest runs in, for the guest may come over before
the target has ended; nothing is marked until the VM is there.

### Let go at once

${guard.releaseTable()}

### A taint that is gone

The taint manager goes on deleting when the taint has been removed. At every look, at the deadline too, the node is read again:
if it lives and carries no \`NoExecute\` taint any more that the pod does not tolerate, the deletion is refused without a time for
another try, so that the taint manager stops, and the evacuation ends as withdrawn. A migration that runs by then is left to finish.

### The deadline

- It counts from the condition, and stands in \`spec.deadline\` of the Evacuation that begins with the first refusal; the earlier one counts. A
  time in the future does not extend it.
- The first sighting needs the condition to be True. From then on the Evacuation counts: kube-controller-manager resets the
  condition after 120 s.
- Where the VM is being evacuated already, that goes on. The Evacuation of the disruption ends as its Duplicate, and its deadline
  counts.
- Each pod has its own, also among the victims of one preemption.
- A VM that waits for its migration when a preemption's deadline is past, and whose pod nobody deletes any more, stays: the scheduler has
  found other victims, and the evacuation ends as withdrawn.
- The deadline stays if the evacuation ends without a move. A new evacuation begins with the next deletion after the back-off, if
  there is time left.
- The taint manager tries five times and never again. If the taint is still there and untolerated, Lifeboat deletes the pod at
  the deadline; not if the evacuation has been given up or cancelled by then, because then the VM stays.

### A node that is about to end

Every deletion of a VM's pod by a user in \`guard.nodeTerminators\`, for whatever reason, is refused until the VM has moved or the node ends.

${guard.nodeEndTable()}

- Never longer than \`guard.deadlineSeconds.NodeTermination\` (${defaults.deadlineSeconds.NodeTermination} s) after the first such deletion. Lower it for guests that need long to
  shut down: Karpenter first deletes as long before the end as the pod's grace period is.
- A pod that is terminating already is let go: the deletion only shortens its time.
- Nothing withdraws it but a person: a node that is being deleted does not come back.

${guard.retrySection()}

### Not refused, but seen

The VM of a launcher pod that is terminating with such a condition is marked if it is not: SIGTERM is on its way, so this is best
effort. A plain deletion of a pod is no request to migrate.

## Node pressure

With the gate \`NodePressureEvictionLiveMigration\`. The kubelet does not ask, and SIGTERM cannot be taken back from outside.

While a node has MemoryPressure, DiskPressure or PIDPressure, VMs leave it: at most ${limits.parallelOutboundMigrationsPerNode} at a time, unless the KubeVirt CR says otherwise, counting those that
already do; those that can migrate, by lowest priority, then by most memory beyond what they requested; and only if another
node (Ready, not cordoned, not tainted, not under pressure) has the memory free that they request. A VM whose
last evacuation ended without a move stays until its back-off ends. One that moved less than ${evacuation.cooldownSeconds} s ago
(\`evacuation.cooldownSeconds\`) comes after all others and alone, only when no other VM leaves: else the kubelet would kill it.

A guest that its kubelet is ending, or that a node agent sees shutting down, moves at once if its VM runs and is not being deleted,
its domain is alive (not Shutoff, Crashed or unknown) and its launcher has been told to shut it down:

${guard.pressureTable()}

${shield.section()}
${descheduling.section()}
## Causes

Recorded in the Evacuation, on its migrations, in Events and in the log. While an urgent evacuation goes on the VM has a label that a
shipped MigrationPolicy selects: it says how such VMs migrate, not when; KubeVirt's queue knows no urgency. A VM whose owner has set
\`lifeboat.dev/convergence: gentle\` on it never has the label.

${tables.causeTable()}

## Events

${tables.eventTable()}

## When nothing can be known

${tables.blindTable()}
`;
}
