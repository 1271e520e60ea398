/**
 * The container runtime of the nodes, shared by the kubelets and by actors that play processes inside a container.
 * Owns: which pods' processes run, have been told to end, or have ended. Does not own: pod status (kubelet.ts).
 */
import type { Clock } from "./clock.ts";
import { keyOf, type KubeObject } from "./resources.ts";

export interface ContainerRuntime {
  /** Starts a pod's processes, once. */
  start(pod: KubeObject): void;
  /** The uid of the last started pod with this key (`namespace/name`). */
  uidOf(podKey: string): string | undefined;
  /** SIGTERM: the processes end after `terminationMs` by default, and no later than the grace period. */
  terminate(podUid: string, graceMs: number): void;
  /** A process ends by itself. */
  exit(podUid: string, exitCode: number): void;
  /** Undefined while running. */
  exitCodeOf(podUid: string): number | undefined;
  isRunning(podUid: string): boolean;
  /** It was told to end, or has ended. */
  isEnding(podUid: string): boolean;
  /** The pod is gone from the API server: its remaining processes are killed. Their exit code stays known. */
  remove(podUid: string): void;
  onExit(listener: (podUid: string) => void): void;
}

/** 128 + SIGKILL */
const KILLED = 137;

interface Process {
  readonly exitCode?: number;
  cancel?: () => void;
}

export function createContainerRuntime(clock: Clock, terminationMs: number): ContainerRuntime {
  const processes = new Map<string, Process>();
  const uids = new Map<string, string>();
  const listeners: ((podUid: string) => void)[] = [];

  const exit = (podUid: string, exitCode: number) => {
    const process = processes.get(podUid) ?? {};
    if (process.exitCode !== undefined) return;
    process.cancel?.();
    processes.set(podUid, { exitCode });
    for (const listener of listeners) listener(podUid);
  };

  return {
    start(pod) {
      if (processes.has(pod.metadata.uid)) return;
      processes.set(pod.metadata.uid, {});
      uids.set(keyOf(pod), pod.metadata.uid);
    },
    uidOf: (podKey) => uids.get(podKey),
    terminate(podUid, graceMs) {
      const process = processes.get(podUid);
      if (process === undefined || process.exitCode !== undefined) return exit(podUid, 0);
      if (process.cancel !== undefined) return;
      const killed = graceMs < terminationMs;
      process.cancel = clock.setTimer(killed ? graceMs : terminationMs, () => exit(podUid, killed ? KILLED : 0));
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
    onExit: (listener) => void listeners.push(listener),
  };
}
