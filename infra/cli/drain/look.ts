/** Looking again and again at a node that is being drained. */
import { observePodsOf } from "../../../shared/pass/observe-preflight.ts";
import type { PreflightFacts } from "../../../shared/policy/preflight/facts.ts";
import { type Subject, subjectsOf } from "../../../shared/policy/progress/subjects.ts";
import type { Connection } from "../connection.ts";
import type { Host } from "../host.ts";

/**
 * Looks at a node that has been cordoned. Room elsewhere is looked at once, before the drain: what was found of it stays.
 * An ordinary pod that comes after the first look tolerates the cordon, and would come again: as with kubectl, it is none of the drain's.
 */
export function createLook(
  before: PreflightFacts,
  { connection, host }: { readonly connection: Connection; readonly host: Host },
): () => Promise<readonly Subject[]> {
  let known: Set<string> | undefined;
  return async () => {
    const observer = { cluster: connection.cluster(), settings: await connection.settings(), now: host.now() };
    const found = subjectsOf({ ...before, ...(await observePodsOf(before.node.name, before.flags, observer)) });
    const leaving = found.filter(({ pod, vmi }) => known === undefined || known.has(pod.uid) || vmi !== undefined);
    known ??= new Set();
    for (const { pod } of leaving) known.add(pod.uid);
    return leaving;
  };
}
