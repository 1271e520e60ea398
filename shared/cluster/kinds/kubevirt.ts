/**
 * KubeVirt's kinds: the fields that policy reads of each, as facts.
 * Owns: their schemas, each of which turns JSON into facts. Does not own: requests (cluster.ts), rules.
 */
import * as z from "zod/mini";
import type { MigrationFacts, VmiFacts } from "../../policy/facts.ts";
import * as names from "../../policy/names.ts";
import { quantity } from "../quantity.ts";
import { Conditions, createdAt, identityOf, listOf, Meta, Phase, present, StringsOrNone, Text } from "./fields.ts";

const MigrationState = z.lazy(() =>
  z.object({
    migrationUid: Text,
    failureReason: Text,
    mode: Text,
    targetNodeDomainReadyTimestamp: Text,
    endTimestamp: Text,
    completed: z.nullish(z.boolean()),
    failed: z.nullish(z.boolean()),
  }),
);

export const Vmi = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: Meta,
      spec: z.object({
        evictionStrategy: Text,
        domain: z.nullish(z.object({ memory: z.nullish(z.object({ guest: Text })) })),
      }),
      status: z.prefault(
        z.object({
          phase: Phase,
          nodeName: Text,
          evacuationNodeName: Text,
          activePods: StringsOrNone,
          conditions: Conditions,
          migrationState: z.nullish(MigrationState),
        }),
        {},
      ),
    }),
    z.transform(({ metadata, spec, status: { conditions, migrationState, ...status } }): VmiFacts => {
      const { labels, annotations } = metadata;
      const condition = conditions.find(({ type }) => type === "LiveMigratable");
      const { reason, message } = condition ?? {};
      return present({
        ...identityOf(metadata),
        ...status,
        ...migrationOf(migrationState),
        liveMigratable: present({ migratable: condition?.status === "True", reason, message }),
        hasLabels: Boolean(labels),
        guestMemory: quantity(spec.domain?.memory?.guest),
        evictionStrategy: spec.evictionStrategy,
        evictionSource: annotations?.[names.EVICTION_SOURCE_ANNOTATION],
        evacuationLabel: labels?.[names.EVACUATION_LABEL],
      });
    }),
  ),
);

/** The guest runs on the target from post-copy on, or once its domain is ready there. */
function migrationOf(state: z.output<typeof MigrationState> | null | undefined) {
  if (!state) return { isMigrating: false, guestOnTarget: false };
  const { migrationUid, failureReason, mode, targetNodeDomainReadyTimestamp, endTimestamp, completed, failed } = state;
  const goesOn = endTimestamp === undefined && failed !== true;
  return {
    isMigrating: goesOn && completed !== true,
    guestOnTarget: goesOn && (mode === "PostCopy" || targetNodeDomainReadyTimestamp !== undefined),
    failure: migrationUid && failureReason ? { migrationUID: migrationUid, reason: failureReason } : undefined,
  };
}

/**
 * Conditions of a migration that KubeVirt cannot begin, in the order in which it looks at them.
 * Upstream: staging/src/kubevirt.io/api/core/v1/types.go.
 */
const BLOCKING: readonly string[] = ["migrationBlockedByBackup", "migrationBlockedByUtilityVolumes", names.OVER_QUOTA];

function blockedBy(conditions: Conditions): MigrationFacts["blockedBy"] {
  const condition = conditions.find(({ type, status }) => BLOCKING.includes(type) && status === "True");
  if (condition === undefined) return undefined;
  const { type, reason, message } = condition;
  return present({ type, reason, message });
}

export const Migration = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: Meta,
      spec: z.object({ vmiName: z.string() }),
      status: z.prefault(
        z.object({
          phase: Phase,
          migrationState: z.nullish(
            z.object({ sourceNode: Text, targetNode: Text, targetPod: Text, failureReason: Text }),
          ),
          conditions: Conditions,
        }),
        {},
      ),
    }),
    z.transform(({ metadata, spec, status }): MigrationFacts =>
      present({
        ...identityOf(metadata),
        ...spec,
        ...status.migrationState,
        phase: status.phase,
        createdAt: createdAt(metadata),
        hasAnnotations: Boolean(metadata.annotations),
        evacuates: metadata.annotations?.[names.EVACUATION_MIGRATION_ANNOTATION],
        cause: metadata.annotations?.[names.CAUSE_ANNOTATION],
        blockedBy: blockedBy(status.conditions),
      }),
    ),
  ),
);

const KubeVirtConfiguration = z.lazy(() =>
  z.object({
    evictionStrategy: Text,
    developerConfiguration: z.prefault(z.object({ featureGates: listOf(z.string()) }), {}),
    migrations: z.prefault(
      z.object({
        nodeDrainTaintKey: Text,
        parallelMigrationsPerCluster: z.optional(z.number()),
        parallelOutboundMigrationsPerNode: z.optional(z.number()),
      }),
      {},
    ),
  }),
);

/** What the KubeVirt CR says about evictions and migrations; its namespace is where KubeVirt's own accounts live. */
export interface KubeVirtFacts {
  readonly namespace: string;
  readonly evictionStrategy?: string;
  readonly featureGates: readonly string[];
  readonly drainTaintKey?: string;
  readonly parallelMigrationsPerCluster?: number;
  readonly parallelOutboundMigrationsPerNode?: number;
  /** Of its version: v1.9.0 is 9; absent if it does not say, as a build from a branch. */
  readonly minor?: number;
}

export const KubeVirt = z.lazy(() =>
  z.pipe(
    z.object({
      metadata: Meta,
      spec: z.prefault(z.object({ configuration: z.prefault(KubeVirtConfiguration, {}) }), {}),
      status: z.prefault(z.object({ observedKubeVirtVersion: Text }), {}),
    }),
    z.transform(({ metadata: { namespace }, spec, status: { observedKubeVirtVersion } }): KubeVirtFacts => {
      const { evictionStrategy, developerConfiguration, migrations } = spec.configuration;
      const { nodeDrainTaintKey: drainTaintKey, ...limits } = migrations;
      const { featureGates } = developerConfiguration;
      const [, minor] = /^v?1\.(\d+)\./.exec(observedKubeVirtVersion ?? "") ?? [];
      const version = minor === undefined ? undefined : Number(minor);
      return present({ namespace, featureGates, evictionStrategy, drainTaintKey, ...limits, minor: version });
    }),
  ),
);
