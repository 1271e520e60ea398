/**
 * The border, for Evacuations and migrations: which fields of an API server's JSON we read.
 * Owns: their schemas. Does not own: those of all other kinds (schemas.ts).
 */
import * as z from "zod/mini";
import { CAUSES } from "../policy/cause.ts";
import { ACTIVE_PHASES, END_PHASES } from "../policy/evacuation/phase.ts";
import { Conditions, Count, listOf, Meta, Text } from "./schemas.ts";

export const Migration = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({ vmiName: z.string() }),
    status: z.prefault(
      z.object({
        phase: z._default(z.string(), ""),
        migrationState: z.nullish(
          z.object({ sourceNode: Text, targetNode: Text, targetPod: Text, failureReason: Text }),
        ),
        conditions: Conditions,
      }),
      {},
    ),
  }),
);

const NameAndUid = z.lazy(() => z.object({ name: z._default(z.string(), ""), uid: z.string() }));

export const Evacuation = z.lazy(() =>
  z.object({
    metadata: Meta,
    spec: z.object({
      virtualMachineInstance: z.object({ name: z.string() }),
      cause: z.enum(CAUSES),
      requestedBy: z._default(z.string(), ""),
      intent: z._default(z.enum(["Evacuate", "Withdrawn"]), "Evacuate"),
      deadline: Text,
      pod: z.optional(z.object({ name: Text, uid: z.string() })),
      inherited: z.optional(z.object({ attempts: Count, notBefore: Text })),
    }),
    status: z.prefault(
      z.object({
        virtualMachineInstanceUID: Text,
        podName: Text,
        podUID: Text,
        sourceNode: Text,
        phase: z.optional(z.enum([...ACTIVE_PHASES, ...END_PHASES])),
        reason: Text,
        message: Text,
        attempts: Count,
        migration: z.optional(NameAndUid),
        lastFailedMigration: z.optional(NameAndUid),
        targetNode: Text,
        startTime: Text,
        completionTime: Text,
        nextAttemptTime: Text,
        conditions: listOf(
          z.object({
            type: z.string(),
            status: z.string(),
            reason: z._default(z.string(), ""),
            message: z._default(z.string(), ""),
            lastTransitionTime: z._default(z.string(), ""),
          }),
        ),
      }),
      {},
    ),
  }),
);
