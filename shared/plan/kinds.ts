/** Reads pods, VMIs, migrations and volumes with the additional fields that a plan needs. */
import * as z from "zod/mini";
import { listOf, part, present, Text, TextsOrNone } from "../kube/schemas/fields.ts";
import type { VmiFacts } from "../kube/facts.ts";
import { Migration } from "../kube/schemas/kubevirt.ts";
import { type ClaimedVolume, PersistentVolumeWithClaim } from "../kube/schemas/storage.ts";
import { Vmi } from "../kube/schemas/vmi.ts";
import type { Volume } from "../preflight/facts.ts";
import { PersistentVolume } from "../preflight/kinds.ts";
import { preflightPodSchema } from "../preflight/preflight-pod.ts";
import type { PlanMigration, PlanPod, PlanVmi, VmKind } from "./facts.ts";

export const CANARY_ANNOTATION = "lifeboat.dev/canary";
/** Upstream: `OutdatedLauncherImageLabel`. */
const OUTDATED_LABEL = "kubevirt.io/outdatedLauncherImage";

const Imaged = z.lazy(() =>
  z.object({
    metadata: z.object({ creationTimestamp: Text }),
    spec: z.object({ containers: listOf(z.object({ name: z.string(), image: Text })) }),
  }),
);

type Issues = z.core.ParsePayload["issues"];

function reader(input: unknown, issues: Issues) {
  return <S extends z.ZodMiniType>(schema: S): z.output<S> | undefined => {
    const { data, error } = schema.safeParse(input);
    for (const { path, message } of error?.issues ?? [])
      issues.push({ code: "custom", input, path: [...path], message });
    return data;
  };
}

/** Returns a schema for one list of pods. Equal values within the list share one object, to save memory. */
export function planPodSchema() {
  const schema = preflightPodSchema();
  return z.transform((input: unknown, { issues }): PlanPod => {
    const read = reader(input, issues);
    const [pod, more] = [read(schema), read(Imaged)];
    if (pod === undefined || more === undefined) return z.NEVER;
    const image = more.spec.containers.find(({ name }) => name === "compute")?.image;
    const createdAt = Date.parse(more.metadata.creationTimestamp ?? "") || 0;
    return { ...pod, createdAt, ...(image !== undefined && { image }) };
  });
}

const ClaimInfo = z.lazy(() => part({ accessModes: listOf(z.string()), volumeMode: Text }));

const Flag = z.nullish(z.boolean());
const Other = z.lazy(() => part({ syncAddress: Text }));

/** The state of the last migration. `syncAddress` is set only if the migration goes to another cluster or namespace. */
const State = z.lazy(() =>
  part({
    migrationUid: Text,
    sourceNode: Text,
    sourcePod: Text,
    targetNode: Text,
    targetPod: Text,
    startTimestamp: Text,
    completed: Flag,
    failed: Flag,
    failureReason: Text,
    abortRequested: Flag,
    sourceState: Other,
    targetState: Other,
  }),
);

const CreatedAt = z.lazy(() =>
  z.pipe(
    listOf(z.object({ phase: Text, phaseTransitionTimestamp: Text })),
    z.transform((all) => {
      const created = all.find(({ phase }) => phase === "Scheduling")?.phaseTransitionTimestamp;
      return Date.parse(created ?? "") || undefined;
    }),
  ),
);

const Kind = z.lazy(() =>
  z.object({
    metadata: z.object({ annotations: TextsOrNone, labels: TextsOrNone }),
    spec: z.object({
      architecture: Text,
      domain: part({ machine: part({ type: Text }), cpu: part({ model: Text }) }),
    }),
    status: part({
      machine: part({ type: Text }),
      migrationState: State,
      phaseTransitionTimestamps: CreatedAt,
      volumeStatus: listOf(z.object({ persistentVolumeClaimInfo: z.nullish(ClaimInfo) })),
    }),
  }),
);

export const VmiOfPlan = z.transform((input: unknown, { issues }): PlanVmi => {
  const read = reader(input, issues);
  const [vmi, more] = [read(Vmi), read(Kind)];
  if (vmi === undefined || more === undefined) return z.NEVER;
  const { metadata, spec, status } = more;
  const claims = status.volumeStatus.flatMap(({ persistentVolumeClaimInfo: info }) => (info ? [storageOf(info)] : []));
  const kind: VmKind = {
    machine: status.machine.type ?? spec.domain.machine.type ?? "",
    architecture: spec.architecture ?? "",
    cpuModel: spec.domain.cpu.model ?? "",
    storage: [...new Set(claims)].toSorted().join("+") || "none",
  };
  return present({
    ...vmi,
    kind,
    isCanary: metadata.annotations[CANARY_ANNOTATION] === "true" || undefined,
    isOutdated: Object.hasOwn(metadata.labels, OUTDATED_LABEL) || undefined,
    startedAt: status.phaseTransitionTimestamps,
    lastFinished: lastFinishedOf(vmi, status.migrationState),
  });
});

/**
 * Returns the last migration, if it has finished. Returns undefined if the last migration is in progress or goes to
 * another cluster.
 */
function lastFinishedOf({ namespace, name }: VmiFacts, state: z.output<typeof State>): PlanMigration | undefined {
  const {
    migrationUid: uid,
    startTimestamp,
    completed,
    failed,
    abortRequested,
    sourceState,
    targetState,
    ...seen
  } = state;
  const isFar = sourceState.syncAddress !== undefined || targetState.syncAddress !== undefined;
  if (uid === undefined || completed !== true || isFar) return undefined;
  return present({
    ...seen,
    namespace,
    name: "",
    uid,
    resourceVersion: "",
    vmiName: name,
    deleting: false,
    phase: failed === true ? "Failed" : "Succeeded",
    createdAt: Date.parse(startTimestamp ?? "") || 0,
    isCancelled: abortRequested === true || undefined,
  });
}

const SHORT: Readonly<Record<string, string>> = {
  ReadWriteOnce: "RWO",
  ReadWriteMany: "RWX",
  ReadOnlyMany: "ROX",
  ReadWriteOncePod: "RWOP",
};

function storageOf({ accessModes, volumeMode = "Filesystem" }: z.output<typeof ClaimInfo>): string {
  const modes = accessModes.map((mode) => SHORT[mode] ?? mode).toSorted();
  return `${volumeMode.toLowerCase()}/${modes.join(",")}`;
}

const Source = z.lazy(() =>
  z.object({ status: part({ migrationState: part({ sourcePod: Text, abortRequested: z.nullish(z.boolean()) }) }) }),
);

export const MigrationOfPlan = z.transform((input: unknown, { issues }): PlanMigration => {
  const read = reader(input, issues);
  const [migration, more] = [read(Migration), read(Source)];
  if (migration === undefined || more === undefined) return z.NEVER;
  const { sourcePod, abortRequested } = more.status.migrationState;
  return present({ ...migration, sourcePod, isCancelled: abortRequested === true || undefined });
});

/** A PersistentVolume with its claim. If only some nodes can access the volume, `bound` contains these nodes. */
export interface PlanVolume extends ClaimedVolume {
  readonly bound?: Volume;
}

export const VolumeOfPlan = z.transform((input: unknown, { issues }): PlanVolume => {
  const read = reader(input, issues);
  const [claimed, bound] = [read(PersistentVolumeWithClaim), read(PersistentVolume)];
  if (claimed === undefined) return z.NEVER;
  return { ...claimed, ...(bound && { bound }) };
});
