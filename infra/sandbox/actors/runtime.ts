/** A container runtime that simulates the processes of all pods. */
import type { Clock } from "./clock.ts";
import { keyOf, type Pod } from "./resources.ts";

export interface ContainerRuntime {
  /** Starts a pod's processes. A second call for the same pod does nothing. */
  start(pod: Pod): void;
  /** Returns true if the pod's containers are ready. Simulated processes are ready from the start. */
  isReady(podUid: string): boolean;
  setReady(podUid: string, isReady: boolean): void;
  /** Returns the UID of the last started pod with this key (`namespace/name`). */
  uidOf(podKey: string): string | undefined;
  /** Returns which of these pods was started last. */
  startedLast(podUids: readonly string[]): string | undefined;
  /** Sends SIGTERM. The processes end after `terminationMs`, or after the grace period if it is shorter. */
  terminate(podUid: string, graceMs: number): void;
  /** Keeps the pod's process running after SIGTERM, until `shutDown` is called or `destroyAfterMs` has passed. */
  supervise(podUid: string, destroyAfterMs: number): void;
  /** Shuts a supervised process down. The process ends after `terminationMs`, unless it is killed earlier. */
  shutDown(podUid: string): void;
  wasSignalled(podUid: string): boolean;
  /** Returns true if the process is shutting down or has ended. */
  isShuttingDown(podUid: string): boolean;
  exit(podUid: string, exitCode: number): void;
  /** Returns the exit code. Returns undefined while the process runs. */
  exitCodeOf(podUid: string): number | undefined;
  isRunning(podUid: string): boolean;
  /** Returns true if the pod has received SIGTERM or has ended. */
  isEnding(podUid: string): boolean;
  /** Kills the processes of a deleted pod. Their exit codes can still be read. */
  remove(podUid: string): void;
  onStart(listener: (pod: Pod) => void): void;
  onReadiness(listener: (podUid: string) => void): void;
  onSignal(listener: (podUid: string) => void): void;
  onExit(listener: (podUid: string) => void): void;
}

/** The exit code after SIGKILL: 128 + 9. */
const KILLED = 137;

interface Process {
  readonly startedAs?: number;
  readonly exitCode?: number;
  cancel?: () => void;
  destroyAfterMs?: number;
  killedAt?: number;
  isShuttingDown?: boolean;
  isReady?: boolean;
}

/**
 * Creates a runtime. `isReal` returns true if the pod runs as a process of this machine. Such a process reports its
 * readiness through `setReady`.
 */
export function createContainerRuntime(
  clock: Clock,
  terminationMs: number,
  isReal: (pod: Pod) => boolean = () => false,
): ContainerRuntime {
  const processes = new Map<string, Process>();
  let started = 0;
  const uids = new Map<string, string>();
  const listeners: ((podUid: string) => void)[] = [];
  const signalListeners: ((podUid: string) => void)[] = [];
  const readinessListeners: ((podUid: string) => void)[] = [];
  const startListeners: ((pod: Pod) => void)[] = [];

  const orderOf = (podUid: string) => processes.get(podUid)?.startedAs ?? 0;

  const exit = (podUid: string, exitCode: number) => {
    const process = processes.get(podUid) ?? {};
    if (process.exitCode !== undefined) return;
    process.cancel?.();
    processes.set(podUid, { ...(process.startedAs !== undefined && { startedAs: process.startedAs }), exitCode });
    for (const listener of listeners) listener(podUid);
  };

  const signal = (podUid: string, process: Process, killMs: number) => {
    process.killedAt = clock.now().getTime() + killMs;
    process.cancel = clock.setTimer(killMs, () => exit(podUid, KILLED));
    for (const listener of signalListeners) listener(podUid);
  };

  return {
    start(pod) {
      if (processes.has(pod.metadata.uid)) return;
      processes.set(pod.metadata.uid, { startedAs: ++started, isReady: !isReal(pod) });
      uids.set(keyOf(pod), pod.metadata.uid);
      for (const listener of startListeners) listener(pod);
    },
    isReady: (podUid) => processes.get(podUid)?.isReady ?? false,
    setReady(podUid, isReady) {
      const process = processes.get(podUid);
      if (process === undefined || process.isReady === isReady) return;
      process.isReady = isReady;
      for (const listener of readinessListeners) listener(podUid);
    },
    uidOf: (podKey) => uids.get(podKey),
    startedLast(podUids) {
      return podUids.toSorted((a, b) => orderOf(b) - orderOf(a))[0];
    },
    terminate(podUid, graceMs) {
      const process = processes.get(podUid);
      if (process === undefined || process.exitCode !== undefined) return exit(podUid, 0);
      if (process.cancel !== undefined) return;
      const { destroyAfterMs } = process;
      if (destroyAfterMs !== undefined) return signal(podUid, process, Math.min(graceMs, destroyAfterMs));
      const killed = graceMs < terminationMs;
      process.cancel = clock.setTimer(killed ? graceMs : terminationMs, () => exit(podUid, killed ? KILLED : 0));
    },
    supervise(podUid, destroyAfterMs) {
      const process = processes.get(podUid);
      if (process !== undefined) process.destroyAfterMs ??= destroyAfterMs;
    },
    shutDown(podUid) {
      const process = processes.get(podUid);
      if (process?.killedAt === undefined || process.isShuttingDown === true) return;
      process.isShuttingDown = true;
      if (process.killedAt - clock.now().getTime() < terminationMs) return;
      process.cancel?.();
      process.cancel = clock.setTimer(terminationMs, () => exit(podUid, 0));
    },
    wasSignalled: (podUid) => processes.get(podUid)?.killedAt !== undefined,
    isShuttingDown(podUid) {
      const { isShuttingDown = false, exitCode } = processes.get(podUid) ?? {};
      return isShuttingDown || exitCode !== undefined;
    },
    exit,
    exitCodeOf: (podUid) => processes.get(podUid)?.exitCode,
    isRunning: (podUid) => processes.has(podUid) && processes.get(podUid)?.exitCode === undefined,
    isEnding(podUid) {
      const { cancel, exitCode } = processes.get(podUid) ?? {};
      return cancel !== undefined || exitCode !== undefined;
    },
    remove(podUid) {
      if (processes.has(podUid)) exit(podUid, KILLED);
    },
    onStart: (listener) => void startListeners.push(listener),
    onReadiness: (listener) => void readinessListeners.push(listener),
    onSignal: (listener) => void signalListeners.push(listener),
    onExit: (listener) => void listeners.push(listener),
  };
}
