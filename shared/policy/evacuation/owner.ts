/**
 * Evacuations by the VM's owner: the eviction strategy External.
 *
 * An owner whose migration fails may try again, or shut the VM down in order: Cluster API's provider drains the guest and deletes the VM
 * then. So its migrations are never counted, deleted or doubled.
 */
import { uncountedFailures, whyFailed } from "./attempt.ts";
import { MIGRATES, strategyOf } from "../eviction/eviction-table.ts";
import { MESSAGE } from "../eviction/messages.ts";
import type { Change } from "./status.ts";
import type { LivePair } from "./world.ts";

export function isByOwner({ vmi, w }: LivePair): boolean {
  return !MIGRATES[strategyOf(vmi, w.settings)];
}

export function waitingForOwner({ e, vmi, migrations }: LivePair): Change {
  const failed = uncountedFailures(e, migrations).at(-1);
  const tried = failed === undefined ? "" : `; migration ${failed.name} has failed: ${whyFailed(failed, vmi)}`;
  return { phase: "WaitingForOwner", reason: "External", message: `${MESSAGE.WaitsForOwner}${tried}` };
}
