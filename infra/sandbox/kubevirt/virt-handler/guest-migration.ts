/** Moves a guest between two virt-handlers, which communicate through the VMI's migrationState. */
import { timestamp } from "../../actors/clock.ts";
import type { ActorOptions } from "../../actors/actor.ts";
import type { Result } from "../../actors/controller.ts";
import { podAddress } from "../../actors/pod-status.ts";
import type { ContainerRuntime } from "../../actors/runtime.ts";
import { withCondition } from "../conditions.ts";
import { liveMigratable } from "../live-migratable.ts";
import type { Attempt, MigrationPlan } from "../migration-plan.ts";
import * as kubevirt from "../resources.ts";
import { asHandlerOn } from "./identity.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type State = kubevirt.MigrationState;

export interface GuestMigrationOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly plan: MigrationPlan;
}

export function createGuestMigration(options: GuestMigrationOptions): (vmi: Vmi) => Promise<Result> {
  const { client, clock, runtime, plan } = options;
  const handlerOf = ({ status }: Vmi) => asHandlerOn(client, status?.nodeName);
  const attempts = new Map<string, { readonly migrationUid: string; readonly since: number }[]>();

  const launcher = ({ metadata }: Vmi, pod = ""): string | undefined => runtime.uidOf(`${metadata.namespace}/${pod}`);

  const step = async (vmi: Vmi): Promise<Result> => {
    const state = vmi.status?.migrationState;
    if (state === undefined) return undefined;
    if (state.endTimestamp !== undefined) return leave(vmi, state);
    if (state.targetNodeAddress === undefined) return prepare(vmi, state);
    if (state.startTimestamp === undefined) return begin(vmi, state);
    if (state.abortRequested === true)
      return fail(vmi, { ...state, abortStatus: "Succeeded" }, "Live migration aborted");
    return move(vmi, state);
  };

  /**
   * Writes the target's address and ports into the VMI's status. The target launcher must be running and in
   * `activePods`. Upstream: `findSocketOnHost`.
   */
  const prepare = async (vmi: Vmi, state: State): Promise<Result> => {
    const target = launcher(vmi, state.targetPod);
    if (target === undefined || !runtime.isRunning(target)) return undefined;
    if (vmi.status?.activePods?.[target] !== state.targetNode) return undefined;
    return write(vmi, {
      ...state,
      targetNodeAddress: podAddress(state.targetNode ?? ""),
      targetDirectMigrationNodePorts: { "49152": 0, "49153": 49152 },
    });
  };

  const begin = (vmi: Vmi, state: State): Promise<Result> => {
    const { attempt } = attemptOf(vmi, state);
    const mode = plan.isPostCopy(attempt) ? "PostCopy" : "PreCopy";
    return write(vmi, { ...state, startTimestamp: timestamp(clock), mode });
  };

  const move = async (vmi: Vmi, state: State): Promise<Result> => {
    const target = launcher(vmi, state.targetPod);
    if (target !== undefined && runtime.exitCodeOf(target) !== undefined)
      return fail(vmi, state, "the target pod ended during the migration");
    const source = launcher(vmi, state.sourcePod);
    if (source !== undefined && runtime.isShuttingDown(source)) return fail(vmi, state, "the guest is shutting down");
    const { attempt, since } = attemptOf(vmi, state);
    const left = since + plan.secondsOf(attempt) * 1000 - clock.now().getTime();
    if (left > 0) return { requeueAfterMs: left };
    if (plan.outcomeOf(attempt) === "Failed") return fail(vmi, state, plan.failureReasonOf(attempt));
    return arrive(vmi, state);
  };

  /** Completes the migration: sets the VMI's node, and removes evacuationNodeName. */
  const arrive = async (vmi: Vmi, state: State): Promise<Result> => {
    const now = timestamp(clock);
    const { [kubevirt.ANNOTATION.evictionSource]: _source, ...annotations } = vmi.metadata.annotations ?? {};
    const { evacuationNodeName: _mark, ...status } = vmi.status ?? {};
    const { [kubevirt.LABEL.outdatedLauncher]: _outdated, ...labels } = vmi.metadata.labels ?? {};
    const nodeName = state.targetNode ?? "";
    await handlerOf(vmi).update(kubevirt.virtualMachineInstances, {
      ...vmi,
      metadata: { ...vmi.metadata, annotations, labels: { ...labels, [kubevirt.LABEL.nodeName]: nodeName } },
      status: {
        ...status,
        nodeName,
        interfaces: [{ name: "default", ipAddress: podAddress(launcher(vmi, state.targetPod) ?? "") }],
        conditions: withCondition(status.conditions, liveMigratable(vmi.spec)),
        migrationState: {
          ...state,
          targetNodeDomainDetected: true,
          targetNodeDomainReadyTimestamp: now,
          endTimestamp: now,
          completed: true,
        },
      },
    });
  };

  const fail = (vmi: Vmi, state: State, failureReason: string): Promise<Result> =>
    write(vmi, { ...state, endTimestamp: timestamp(clock), completed: true, failed: true, failureReason });

  /**
   * Ends the launcher that has no guest. The virt-handler on the guest's node removes the label
   * `kubevirt.io/migrationTargetNodeName` from the VMI.
   */
  const leave = async (vmi: Vmi, state: State): Promise<Result> => {
    const failed = state.failed === true;
    const empty = launcher(vmi, failed ? state.targetPod : state.sourcePod);
    const isHere = (failed ? state.targetNode : state.sourceNode) === vmi.status?.nodeName;
    if (empty !== undefined && !isHere && runtime.isRunning(empty)) runtime.exit(empty, 0);
    const { [kubevirt.LABEL.migrationTargetNodeName]: target, ...labels } = vmi.metadata.labels ?? {};
    if (target === undefined) return undefined;
    await handlerOf(vmi).update(kubevirt.virtualMachineInstances, { ...vmi, metadata: { ...vmi.metadata, labels } });
  };

  const write = async (vmi: Vmi, migrationState: State): Promise<Result> => {
    await handlerOf(vmi).update(kubevirt.virtualMachineInstances, {
      ...vmi,
      status: { ...vmi.status, migrationState },
    });
  };

  /**
   * Returns the number and the exact start time of a migration attempt. The VMI's status has the start time only in
   * whole seconds.
   */
  const attemptOf = (vmi: Vmi, { migrationUid = "" }: State): { readonly attempt: Attempt; readonly since: number } => {
    const { name, namespace = "", uid } = vmi.metadata;
    const known = attempts.get(uid) ?? [];
    const all = known.some((other) => other.migrationUid === migrationUid)
      ? known
      : [...known, { migrationUid, since: clock.now().getTime() }];
    attempts.set(uid, all);
    const index = all.findIndex((other) => other.migrationUid === migrationUid);
    return { attempt: { namespace, name, attempt: index + 1 }, since: all[index]?.since ?? 0 };
  };

  return step;
}
