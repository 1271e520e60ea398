/**
 * Evacuation policy: what to do next about every VM that has to leave its node.
 * Owns: the actions for each standing, and beginning what KubeVirt or a taint asks for. Does not own: recognising standings
 * (standing.ts), budgets (budget.ts), requests.
 *
 * KubeVirt's migration controller is the queue: it holds every migration, its own or not, until both of its limits
 * allow it. So nothing here counts migrations, and a VM that may migrate is never made to wait for another one.
 */
import { type Action, type Plan, tell } from "../action.ts";
import { isReadyForMigration } from "../budget/budget.ts";
import { begin } from "./begin.ts";
import { abandoned, attemptFailed, moved, withdrawn } from "./ends.ts";
import type { Change } from "./status.ts";
import { end, type EvacuationWorld, inheritedAttempts, type LivePair, ofVmi, type Pair, write } from "./world.ts";
import { type EvacuationFacts, keyOf, type MigrationFacts, type VmiFacts } from "../facts.ts";
import { derivedName, hash8 } from "../kube/object-name.ts";
import { markActions } from "./mark.ts";
import { NAME_PREFIX } from "../names.ts";
import { isActive } from "./phase.ts";
import { type Standing, standingOf } from "./standing.ts";

export function planEvacuations(w: EvacuationWorld): Plan {
  if (!w.settings.reconcilers.evacuation) return { chains: [] };
  const begun = w.vmis.map((vmi) => begin(vmi, w));
  const carriedOn = w.evacuations.filter(isActive).map((evacuation) => next(evacuation, w));
  const chains = [...begun, ...carriedOn].filter((chain) => chain.length > 0);
  return { chains, again: chains.some((chain) => chain.some(hasConsequences)) };
}

/** Only what has not begun yet: for a look at many VMs, none of whose migrations are known. */
export function planBeginnings(w: EvacuationWorld): Plan {
  if (!w.settings.reconcilers.evacuation) return { chains: [] };
  return { chains: w.vmis.map((vmi) => begin(vmi, w)).filter((chain) => chain.length > 0) };
}

/** A mark or a migration is KubeVirt's to act on; a new Evacuation, a failed attempt and an end are ours. */
function hasConsequences(action: Action): boolean {
  return action.verb === "CreateEvacuation" || (action.verb === "WriteStatus" && action.status.phase === "BackingOff");
}

function next(e: EvacuationFacts, w: EvacuationWorld): readonly Action[] {
  const vmi = w.vmis.find(({ namespace, name }) => namespace === e.namespace && name === e.spec.vmiName);
  if (vmi === undefined) return gone({ e, migrations: [], w }, "there is no VirtualMachineInstance of this name");
  const migrations = w.migrations.filter((m) => isOfVmi(m, vmi));
  const node = w.nodes.find(({ name }) => name === vmi.nodeName);
  const queue = w.queues?.get(vmi.nodeName ?? "");
  const standing = standingOf({
    evacuation: e,
    vmi,
    siblings: ofVmi(w.evacuations, vmi),
    migrations,
    launchers: w.pods.filter((pod) => pod.namespace === vmi.namespace),
    ...(node && { node }),
    ...(queue && { queue }),
    vmiIsNewer: w.vmisAreNewer,
    settings: w.settings,
    now: w.now,
  });
  return actionsFor(standing, { e, vmi, migrations, w });
}

function isOfVmi(m: MigrationFacts, vmi: VmiFacts): boolean {
  return keyOf({ namespace: m.namespace, name: m.vmiName }) === keyOf(vmi);
}

function gone(pair: Pair, message: string): readonly Action[] {
  return end(pair, { phase: "Gone", reason: "VirtualMachineInstanceGone", message });
}

function actionsFor(standing: Standing, pair: LivePair): readonly Action[] {
  switch (standing.standing) {
    case "Gone":
      return gone(pair, standing.why);
    case "Duplicate": {
      const message = `Evacuation ${standing.of.name} of the same pod goes on`;
      return end(pair, { phase: "Duplicate", reason: "Duplicate", message });
    }
    case "Moved":
      return moved(pair, standing.targetNode);
    case "Withdrawn":
      return withdrawn(pair, standing);
    case "GivenUp":
    case "Impossible":
      return abandoned(pair, standing);
    case "AttemptFailed":
    case "Stuck":
      return attemptFailed(pair, standing);
    case "Migrating":
      return migrating(pair, standing);
    case "Unclear":
      return [];
    case "Unmarked":
      return [
        ...markActions(pair.vmi, pair.e.spec.cause, pair.w.settings),
        ...write(pair, pending("the VM is being marked for KubeVirt to migrate it")),
      ];
    case "Ready":
      return ready(pair);
    case "LeftToKubeVirt":
      return write(pair, pending("KubeVirt's evacuation controller migrates the VM"));
    case "BackingOff":
      return write(pair, backingOff(pair.e));
    case "WaitingForOwner": {
      const message = "eviction strategy External: the VM's owner has to move it";
      return write(pair, { phase: "WaitingForOwner", reason: "External", message });
    }
    case "Blocked":
      return blocked(pair, standing);
  }
}

function pending(message: string): Change {
  return { phase: "Pending", reason: "Pending", message };
}

/** What has failed stays told. */
function backingOff({ status, spec }: EvacuationFacts): Change {
  const notBefore = status.nextAttemptTime ?? spec.inherited?.notBefore;
  const more = notBefore === undefined ? {} : { nextAttemptTime: notBefore };
  const { phase = "Pending", reason = "", message = "" } = status;
  if (phase === "BackingOff") return { phase, reason, message, more };
  const told = "an attempt to move the VM has failed a moment ago";
  return { phase: "BackingOff", reason: "MigrationFailed", message: told, more };
}

/** KubeVirt's own migration, or another party's, becomes this evacuation's. */
function migrating(
  pair: LivePair,
  { migration, stalled }: Extract<Standing, { standing: "Migrating" }>,
): readonly Action[] {
  const { e, vmi } = pair;
  const { name, uid } = migration;
  const isNew = e.status.migration?.uid !== uid;
  const adopt = isNew && migration.cause === undefined && !migration.deleting;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (cause ${e.spec.cause})`;
  return [
    ...(adopt ? [{ verb: "AdoptMigration", migration, evacuation: e } as const] : []),
    ...write(pair, {
      phase: "Migrating",
      ...progressOf(migration),
      ...(stalled === undefined ? {} : { stalled }),
      more: {
        migration: { name, uid },
        ...(migration.targetNode === undefined ? {} : { targetNode: migration.targetNode }),
      },
    }),
    ...(adopt ? [tell(vmi, "MigrationAdopted", told, uid)] : []),
  ];
}

function progressOf({ name, phase }: MigrationFacts): Pick<Change, "reason" | "message"> {
  if (phase === "" || phase === "Pending") {
    return { reason: "Queued", message: `migration ${name} waits in KubeVirt's queue` };
  }
  if (phase === "Succeeded") return { reason: "Succeeded", message: `migration ${name} has moved the VM` };
  return { reason: "Running", message: `migration ${name} moves the VM` };
}

function blocked(pair: LivePair, { reason, why }: Extract<Standing, { standing: "Blocked" }>): readonly Action[] {
  const change = { phase: "Blocked", reason, message: why } as const;
  const told = `cannot leave node ${pair.vmi.nodeName}: ${why}`;
  const written = write(pair, change);
  return written.length === 0 ? [] : [...written, tell(pair.vmi, "NotMigratable", told, `${pair.e.uid}-${reason}`)];
}

/** KubeVirt's evacuation controller has not acted: a migration of our own, in KubeVirt's queue like any other. */
function ready(pair: LivePair): readonly Action[] {
  const { e, vmi, w } = pair;
  if (!isReadyForMigration(vmi, w.budgets, w.settings)) {
    return write(pair, pending("waits until the VM's disruption budget has grown"));
  }
  const name = migrationName(e, vmi);
  const { maxAttempts } = w.settings.evacuation;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (attempt ${inheritedAttempts(e) + 1} of ${maxAttempts})`;
  return [
    { verb: "CreateMigration", vmi, name, evacuation: e },
    ...write(pair, pending(`migration ${name} has been created`)),
    tell(vmi, "MigrationCreated", told, name),
  ];
}

function migrationName(e: EvacuationFacts, vmi: VmiFacts): string {
  return derivedName(NAME_PREFIX, vmi.name, `${hash8(e.uid)}-${inheritedAttempts(e) + 1}`);
}
