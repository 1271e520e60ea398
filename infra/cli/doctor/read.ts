/** One request, or a few, of which a failure is a finding. */
import { ClusterError } from "../../../shared/cluster/failure.ts";
import type { Connection } from "../connection.ts";
import { wordsOfFailure } from "../failed.ts";
import type { Read } from "./check.ts";
import type { Permission } from "./permissions.ts";

/** `needs`: what the reader lacks if the answer is 403. */
export async function attempt<T>(
  connection: Connection,
  needs: Permission | undefined,
  ask: () => Promise<T>,
): Promise<Read<T>> {
  try {
    return { value: await ask() };
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    const { failure } = error;
    if (failure.reason !== "Refused" || failure.code !== 403) return { unread: wordsOfFailure(failure, connection) };
    return { unread: connection.refusals.get(failure.request) ?? error.message, lacks: needs };
  }
}
