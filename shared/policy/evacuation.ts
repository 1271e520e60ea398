/**
 * Evacuation policy: what to do next about every VM that has to leave its node.
 * Owns: the actions for each standing, and beginning what KubeVirt or a taint asks for. Does not own: recognising standings
 * (standing.ts), budgets (budget.ts), requests.
 *
 * KubeVirt's migration controller is the queue: it holds every migration, whoever created it, until both of its limits
 * allow it. So nothing here counts migrations, and a VM that may migrate is never made to wait for another one.
 */
import { type Action, tell } from "./action.ts";
import { isReadyForMigration } from "./budget.ts";
import { begin } from "./evacuation-begin.ts";
import { abandoned, attemptFailed, moved, withdrawn } from "./evacuation-ends.ts";
import type { Change } from "./evacuation-status.ts";
import { end, type EvacuationWorld, type LivePair, ofVmi, type Pair, write } from "./evacuation-world.ts";
import { type EvacuationFacts, keyOf, type MigrationFacts, type VmiFacts } from "./facts.ts";
import { hash8 } from "./hash.ts";
import { markActions } from "./mark.ts";
import { NAME_PREFIX } from "./names.ts";
import { derivedName } from "./naming.ts";
import { isActive } from "./phase.ts";
import type { Plan } from "./plan.ts";
import { type Standing, standingOf } from "./standing.ts";

export function planEvacuations(w: EvacuationWorld): Plan {
  if (!w.settings.reconcilers.evacuation) return { chains: [] };
  const begun = w.vmis.map((vmi) => begin(vmi, w));
  const carriedOn = w.evacuations.filter(isActive).map((evacuation) => next(evacuation, w));
  const chains = [...begun, ...carriedOn].filter((chain) => chain.length > 0);
  return { chains, again: chains.some((chain) => chain.some(hasConsequences)) };
}

/** Only what nobody has begun: for a look at many VMs, none of whose migrations are known. */
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
  const migrations = vmi === undefined ? [] : w.migrations.filter((m) => isOfVmi(m, vmi));
  const node = vmi && w.nodes.find(({ name }) => name === vmi.nodeName);
  const queue = w.queues?.get(vmi?.nodeName ?? "");
  const standing = standingOf({
    evacuation: e,
    ...(vmi && { vmi }),
    siblings: vmi === undefined ? [] : ofVmi(w.evacuations, vmi),
    migrations,
    launchers: vmi === undefined ? [] : w.pods.filter((pod) => pod.namespace === vmi.namespace),
    ...(node && { node }),
    ...(queue && { queue }),
    vmiIsNewer: w.vmisAreNewer,
    settings: w.settings,
    now: w.now,
  });
  return actionsFor(standing, { e, ...(vmi && { vmi }), migrations, w });
}

function isOfVmi(m: MigrationFacts, vmi: VmiFacts): boolean {
  return keyOf({ namespace: m.namespace, name: m.vmiName }) === keyOf(vmi);
}

/** The VMI is there for every standing but `Gone`. */
function actionsFor(standing: Standing, pair: Pair): readonly Action[] {
  const { vmi } = pair;
  if (standing.standing === "Gone" || vmi === undefined) {
    const why = standing.standing === "Gone" ? standing.why : "";
    return end(pair, { phase: "Gone", reason: "VirtualMachineInstanceGone", message: why });
  }
  return forLive(standing, { ...pair, vmi });
}

function forLive(standing: Exclude<Standing, { standing: "Gone" }>, pair: LivePair): readonly Action[] {
  switch (standing.standing) {
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
      return migrating(pair, standing.migration);
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
      return write(pair, { phase: "BackingOff", ...keptWords(pair.e) });
    case "WaitingForOwner": {
      const message = "eviction strategy External: whoever manages the VM moves it";
      return write(pair, { phase: "WaitingForOwner", reason: "External", message });
    }
    case "Blocked":
      return blocked(pair, standing);
  }
}

function pending(message: string): Change {
  return { phase: "Pending", reason: "Pending", message };
}

function keptWords({ status, spec }: EvacuationFacts): Pick<Change, "reason" | "message" | "more"> {
  const { reason = "Inherited", message = "an earlier evacuation of this pod was abandoned a moment ago" } = status;
  const notBefore = status.nextAttemptTime ?? spec.inherited?.notBefore;
  return { reason, message, ...(notBefore === undefined ? {} : { more: { nextAttemptTime: notBefore } }) };
}

/** KubeVirt's own migration, or another party's, becomes this evacuation's. */
function migrating(pair: LivePair, migration: MigrationFacts): readonly Action[] {
  const { e, vmi } = pair;
  const { name, uid, phase } = migration;
  const isQueued = phase === "" || phase === "Pending";
  const message = isQueued ? `migration ${name} waits in KubeVirt's queue` : `migration ${name} moves the VM`;
  const isNew = e.status.migration?.uid !== uid;
  const adopt = isNew && migration.cause === undefined && !migration.deleting;
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (cause ${e.spec.cause})`;
  return [
    ...(adopt ? [{ verb: "AdoptMigration", migration, evacuation: e } as const] : []),
    ...write(pair, {
      phase: "Migrating",
      reason: isQueued ? "Queued" : "Running",
      message,
      more: {
        migration: { name, uid },
        ...(migration.targetNode === undefined ? {} : { targetNode: migration.targetNode }),
      },
    }),
    ...(adopt ? [tell(vmi, "MigrationAdopted", told, uid)] : []),
  ];
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
  const told = `migration ${name} moves the VM off node ${vmi.nodeName} (attempt ${e.status.attempts + 1} of ${maxAttempts})`;
  return [
    { verb: "CreateMigration", vmi, name, evacuation: e },
    ...write(pair, pending(`migration ${name} has been created`)),
    tell(vmi, "MigrationCreated", told, name),
  ];
}

function migrationName(e: EvacuationFacts, vmi: VmiFacts): string {
  return derivedName(NAME_PREFIX, vmi.name, `${hash8(e.uid)}-${e.status.attempts + 1}`);
}
