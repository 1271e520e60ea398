/**
 * What keeps a VM where it is, in words: it is on no node, not live-migratable, or on its way from or to another VMI.
 *
 * A person begins a decentralized migration, and KubeVirt allows no other one of the VMI beside it: it is waited for, never counted or
 * deleted.
 */
import type { EvacuationFacts, MigrationFacts, VmiFacts } from "../facts.ts";
import { isBeingReceived } from "../kube/pod-kind.ts";
import { NAME_PREFIX } from "../names.ts";
import { succeeded } from "./attempt.ts";

export interface Obstacle {
  readonly reason: string;
  readonly why: string;
}

/** Why the VM cannot leave its node now: it is not there yet, or is on its way elsewhere and cannot go on. */
export function obstacleOf(vmi: VmiFacts, migration: MigrationFacts | undefined): Obstacle | undefined {
  if (vmi.nodeName === undefined) return { reason: "NotScheduled", why: "the VM is not on a node yet" };
  if (isBeingReceived(vmi) || migration?.decentralized === "Receives")
    return { reason: "BeingReceived", why: "the VM is being received from another namespace or cluster" };
  if (migration?.decentralized === undefined || migration.blockedBy === undefined) return undefined;
  const { type, message = type } = migration.blockedBy;
  const why = `migration ${migration.name} to another namespace or cluster cannot go on: ${message}`;
  return { reason: "DecentralizedMigration", why };
}

/** The VMI that has sent its guest away ends like any other. */
export function isSentAway(e: EvacuationFacts, migrations: readonly MigrationFacts[]): boolean {
  return succeeded(e, migrations)?.decentralized === "Sends";
}

export function pinned({ liveMigratable }: VmiFacts): Obstacle {
  const { reason = "", message = "KubeVirt gives no reason" } = liveMigratable;
  // As the CRD's schema allows.
  const isWord = /^[A-Za-z][A-Za-z0-9]{0,255}$/.test(reason);
  return { reason: isWord ? reason : "NotLiveMigratable", why: `the VM is not live-migratable: ${message}` };
}

/** Neither KubeVirt's, for an evacuation or a workload update, nor ours. */
export function isPersons({ evacuates, automatic, name }: MigrationFacts): boolean {
  return evacuates === undefined && automatic !== true && !name.startsWith(NAME_PREFIX);
}

/** KubeVirt allows no other migration beside one that cannot begin, and this one is not ours to delete. */
export function besideAPersons({ name }: MigrationFacts, why: string): Obstacle {
  return { reason: "PersonsMigration", why: `migration ${name}, which a person created, cannot begin: ${why}` };
}
