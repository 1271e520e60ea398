/**
 * Shuts a guest down after its launcher has received SIGTERM. The shutdown cannot be cancelled. Also destroys a guest
 * after a failed post-copy migration.
 */
import type { ActorOptions } from "../../actors/actor.ts";
import { createEventRecorder } from "../../actors/event-recorder.ts";
import type { ContainerRuntime } from "../../actors/runtime.ts";
import * as kubevirt from "../resources.ts";
import type { CallNodeHooks } from "./node-hooks.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export interface GuestShutdownOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly callNodeHooks: CallNodeHooks;
}

export interface GuestShutdown {
  /**
   * Makes virt-handler shut the guest down after SIGTERM. If the shutdown takes too long, the launcher destroys the
   * guest.
   */
  supervise(vmi: Vmi, launcher: string): void;
  /** Continues the shutdown. Rejects if a plugin refuses the shutdown. */
  step(vmi: Vmi, launcher: string): Promise<void>;
}

/** The launcher destroys the guest this many seconds after the end of the guest's grace period. */
const LAUNCHER_GRACE_SECONDS = 15;
/** The exit code after SIGKILL: 128 + 9. */
const DESTROYED = 137;

export function createGuestShutdown({ client, clock, runtime, callNodeHooks }: GuestShutdownOptions): GuestShutdown {
  const supervise = ({ spec }: Vmi, launcher: string): void => {
    const { terminationGracePeriodSeconds = kubevirt.DEFAULT_GRACE_SECONDS } = spec;
    runtime.supervise(launcher, (terminationGracePeriodSeconds + LAUNCHER_GRACE_SECONDS) * 1000);
  };

  const ask = async (vmi: Vmi): Promise<void> => {
    try {
      await callNodeHooks("PreVMStop", vmi);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const recorder = createEventRecorder(client, clock, "virt-handler", vmi.status?.nodeName);
      await recorder.record(vmi, kubevirt.virtualMachineInstances, { type: "Warning", reason: "SyncFailed", message });
      throw error;
    }
  };

  const step = async (vmi: Vmi, launcher: string): Promise<void> => {
    supervise(vmi, launcher);
    const isDeleted = vmi.metadata.deletionTimestamp !== undefined;
    if (kubevirt.isMigrating(vmi.status) && !isDeleted) return;
    if (runtime.wasSignalled(launcher) && !runtime.isShuttingDown(launcher)) {
      await ask(vmi);
      return runtime.shutDown(launcher);
    }
    if (!isLostInPostCopy(vmi)) return;
    await ask(vmi);
    runtime.exit(launcher, DESTROYED);
  };

  return { supervise, step };
}

/**
 * Returns true if a post-copy migration has failed. The guest's memory is then split between two nodes, and the guest
 * is lost.
 */
function isLostInPostCopy({ status }: Vmi): boolean {
  const { failed = false, mode } = status?.migrationState ?? {};
  return failed && mode === "PostCopy";
}
