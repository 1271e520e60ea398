/**
 * POLICY.md: the rendered tables in their order, with what a table cannot say.
 * Owns: the text. Does not own: the tables (render-tables.ts).
 */
import * as tables from "./render-tables.ts";
import { DEFAULT_SETTINGS } from "./settings.ts";

const { evacuation, limits } = DEFAULT_SETTINGS;

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

A VM that is being deleted or final has none; one with a strategy that nobody knows has one. It grows before a migration is
created, because with 1 a ready target makes the source evictable, and shrinks when one ready pod is left. Lifeboat's
yields to KubeVirt's own (1.5 and older); anybody else's is not touched.

## Evacuations

${tables.stageTable()}

- At most ${limits.parallelMigrationsPerCluster} migrations are unfinished in the cluster and ${limits.parallelOutboundMigrationsPerNode} from a node, unless the KubeVirt CR says otherwise. Everybody's count.
- Urgent ones come first, then whoever has waited longest.
- After a failed attempt: ${tables.backoffSteps()}. After ${evacuation.maxAttempts} the evacuation is abandoned; a new one can be
  requested when the last back-off has passed.
- A cancelled one starts the back-off too. It cannot be cancelled while the node carries the drain taint.

## Causes

Recorded on the VM, on its migrations, in Events and in the log. Urgent evacuations are selected by a MigrationPolicy.

${tables.causeTable()}

## Events

${tables.eventTable()}

## When nothing can be known

${tables.blindTable()}
`;
}
