/** Creates a VM that cannot migrate. A NodeEvacuation restarts this VM. */
import { setTimeout as delay } from "node:timers/promises";
import { createVirtualMachine, isAlreadyExists } from "../../sandbox/index.ts";
import { type NodeEvacuation, nodeEvacuations } from "../stage/evacuations.ts";
import type { Run } from "./fault.ts";

const POLL_MS = 300;

export async function createPinned({ client, namespace, nodeOf }: Run, name: string, place: string): Promise<void> {
  const vm = {
    namespace,
    name,
    evictionStrategy: "LiveMigrateIfPossible",
    migratable: false,
    reason: "InterfaceNotLiveMigratable",
  } as const;
  await createVirtualMachine(client, "Always", { ...vm, node: nodeOf(place) }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/**
 * Sets the start time of the NodeEvacuations' blockers to a minute ago, again and again, until the returned
 * AbortController is aborted. Lifeboat restarts a VM only if the VM has been a blocker for a minute.
 */
export function letMinutesPass(run: Run, activeOf: () => Promise<readonly NodeEvacuation[]>): AbortController {
  const over = new AbortController();
  const pass = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const active = await activeOf().catch(() => []);
      for (const one of active) await letMinutePass(run, one).catch(() => undefined);
      await delay(POLL_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  void pass();
  return over;
}

async function letMinutePass({ client }: Run, { metadata, status }: NodeEvacuation): Promise<void> {
  const { name, resourceVersion } = metadata;
  const since = new Date(Date.now() - 61_000).toISOString();
  if (!status?.blockers?.some((blocker) => (blocker.since ?? "") > since)) return;
  const blockers = status.blockers.map((blocker) => ({ ...blocker, since }));
  const body = { metadata: { resourceVersion }, status: { blockers } };
  await client.patch(nodeEvacuations, { name }, { type: "merge", body }, { subresource: "status" });
}
