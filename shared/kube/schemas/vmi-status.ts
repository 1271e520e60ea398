/** Parts of a VMI's status: its last migration, and whether it can live-migrate. */
import * as z from "zod/mini";
import { kind, listOf, part, Text } from "./fields.ts";

/** The guest runs on the target from post-copy on, or once its domain is ready there. */
export const MigrationState = kind(
  () => ({
    migrationUid: Text,
    failureReason: Text,
    mode: Text,
    sourceNode: Text,
    targetNode: Text,
    targetNodeDomainReadyTimestamp: Text,
    startTimestamp: Text,
    endTimestamp: Text,
    completed: z.nullish(z.boolean()),
    failed: z.nullish(z.boolean()),
    targetState: part({ syncAddress: Text }),
  }),
  ({ migrationUid, failureReason, targetState, ...state }) => {
    const goesOn = state.endTimestamp === undefined && state.failed !== true;
    const isUnderWay = goesOn && state.completed !== true;
    const isSending = isUnderWay && targetState.syncAddress !== undefined;
    const isOnTarget = state.mode === "PostCopy" || state.targetNodeDomainReadyTimestamp !== undefined;
    return {
      // One to another VMI gets its UID when that has answered; if it is given up before, nothing takes the rest back.
      isMigrating: isUnderWay && !(isSending && migrationUid === undefined),
      isSending,
      guestOnTarget: goesOn && isOnTarget,
      // Of one to another cluster it is a node there.
      targetNode: isUnderWay && !isSending ? state.targetNode : undefined,
      movedAt: movedAt(state),
      movedInSeconds: movedInSeconds(state),
      failure: failureOf(migrationUid, failureReason),
    };
  },
);

function failureOf(migrationUID: string | undefined, reason: string | undefined) {
  return migrationUID !== undefined && reason !== undefined ? { migrationUID, reason } : undefined;
}

interface Ended {
  readonly sourceNode?: string | undefined;
  readonly targetNode?: string | undefined;
  readonly startTimestamp?: string | undefined;
  readonly endTimestamp?: string | undefined;
  readonly completed?: boolean | null | undefined;
  readonly failed?: boolean | null | undefined;
}

/** A failed one is completed, too. */
function movedAt({ sourceNode, targetNode, endTimestamp, completed, failed }: Ended): number | undefined {
  if (completed !== true || failed === true || sourceNode === targetNode) return undefined;
  return Date.parse(endTimestamp ?? "") || undefined;
}

function movedInSeconds(state: Ended): number | undefined {
  const ended = movedAt(state);
  return ended === undefined ? undefined : (ended - Date.parse(state.startTimestamp ?? "")) / 1000 || undefined;
}

const LIVE_MIGRATABLE = "LiveMigratable";

/** The only one that is read of a VMI's conditions, which are a third of what its status has. */
export const LiveMigratable = z.lazy(() =>
  z.pipe(
    z.pipe(
      listOf(z.unknown()),
      z.transform((conditions) => conditions.find(isLiveMigratable)),
    ),
    z.optional(z.object({ status: z.string(), reason: Text, message: Text })),
  ),
);

function isLiveMigratable(condition: unknown): boolean {
  return (
    typeof condition === "object" && condition !== null && "type" in condition && condition.type === LIVE_MIGRATABLE
  );
}
