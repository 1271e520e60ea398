/** Runs the pods of certain images as processes of this machine. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Actor, ActorOptions } from "../actors/actor.ts";
import { asNode } from "../actors/kubelet.ts";
import type { Pod } from "../actors/resources.ts";
import type { ContainerRuntime } from "../actors/runtime.ts";
import { imageOf, type Images, type Program } from "./images.ts";
import { environmentOf } from "./pod-fields.ts";
import type { PodNetwork } from "./pod-network.ts";
import { probeReadiness } from "./probe.ts";
import { writeVolumes } from "./volumes.ts";

export interface ProcessOptions extends ActorOptions {
  readonly runtime: ContainerRuntime;
  readonly images: Images;
  readonly network: PodNetwork;
  readonly apiServer: URL;
  readonly caPem: string;
}

export interface Processes extends Actor, ProcessKnobs {}

export interface ProcessKnobs {
  /**
   * Returns the port of this machine for a port of the pod's container. Returns undefined if the pod has no process.
   */
  portOf(podUid: string, containerPort: number): number | undefined;
  /** Kills a pod's process with SIGKILL. The process starts again after a short pause. */
  kill(podUid: string): void;
  renewTokens(): Promise<void>;
}

export const NO_PROCESSES: ProcessKnobs = {
  portOf: () => undefined,
  kill: () => undefined,
  renewTokens: () => Promise.resolve(),
};

/**
 * The time from SIGTERM until the process is killed: almost 25 days, the longest time of a timer. The pod's grace
 * period is shorter, and therefore limits the process instead.
 */
const NO_LIMIT_MS = 2 ** 31 - 1;
const RESTART_MS = 500;

interface Running {
  readonly pod: Pod;
  readonly root: string;
  readonly stopped: AbortController;
  child?: ChildProcess;
  mounting?: Promise<void>;
  cancel?: () => void;
}

export function startProcesses(options: ProcessOptions): Processes {
  const { client, clock, runtime, images, network, apiServer, caPem, onError } = options;
  const all = new Map<string, Running>();
  const ending = new Set<Promise<void>>();

  const start = async (pod: Pod): Promise<void> => {
    const run = imageOf(pod, images);
    if (run === undefined) return;
    const { uid } = pod.metadata;
    runtime.supervise(uid, NO_LIMIT_MS);
    const running: Running = { pod, root: await mkdtemp(join(tmpdir(), "pod-")), stopped: new AbortController() };
    all.set(uid, running);
    await mount(running);
    const { root } = running;
    const portOf = (port: number) => network.portOf(uid, port) ?? port;
    const container = { env: environmentOf(pod, apiServer), root, portOf };
    await execute(running, () => run(container));
    const [probed] = pod.spec?.containers ?? [];
    const onResult = (isReady: boolean) => runtime.setReady(uid, isReady);
    if (probed !== undefined) await probeReadiness(probed, { portOf, onResult, signal: running.stopped.signal });
  };

  const mount = (running: Running): Promise<void> => (running.mounting = mountAll(running));

  const mountAll = async (running: Running): Promise<void> => {
    const kubelet = asNode(client, running.pod.spec?.nodeName ?? "");
    const seconds = await writeVolumes(running.pod, { kubelet, caPem, root: running.root });
    running.cancel?.();
    if (running.stopped.signal.aborted) return;
    if (Number.isFinite(seconds)) running.cancel = clock.setTimer(seconds * 1000, () => void tried(mount(running)));
  };

  const execute = async (running: Running, run: () => Program): Promise<void> => {
    const { uid } = running.pod.metadata;
    await network.open(running.pod);
    if (running.stopped.signal.aborted) return network.close(uid);
    const program = run();
    const { command, args, cwd, env, onOutput = () => undefined } = program;
    const child = spawn(command, [...args], { env: { ...env }, stdio: "pipe", ...(cwd !== undefined && { cwd }) });
    running.child = child;
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onOutput);
    child.once("close", (code) => {
      if (runtime.wasSignalled(uid) || running.stopped.signal.aborted) return runtime.exit(uid, code ?? KILLED);
      runtime.setReady(uid, false);
      running.cancel = combined(
        running.cancel,
        clock.setTimer(RESTART_MS, () => remember(execute(running, run))),
      );
    });
  };

  const end = async (uid: string): Promise<void> => {
    const running = all.get(uid);
    if (running === undefined) return;
    all.delete(uid);
    network.close(uid);
    running.stopped.abort();
    running.cancel?.();
    const { child } = running;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGKILL");
      await closed;
    }
    await running.mounting?.catch(() => undefined);
    await rm(running.root, { recursive: true, force: true });
  };

  const tried = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => onError?.(error, "processes"));
  const remember = (work: Promise<void>) => {
    const done = tried(work).finally(() => ending.delete(done));
    ending.add(done);
  };

  runtime.onStart((pod) => remember(start(pod)));
  runtime.onSignal((uid) => void all.get(uid)?.child?.kill("SIGTERM"));
  runtime.onExit((uid) => remember(end(uid)));
  return {
    portOf: (uid, port) => network.portOf(uid, port),
    kill: (uid) => void all.get(uid)?.child?.kill("SIGKILL"),
    renewTokens: async () => void (await Promise.all([...all.values()].map(mount))),
    async stop() {
      await Promise.all([...all.keys()].map(end));
      await Promise.all(ending);
    },
  };
}

const KILLED = 137;

function combined(first: (() => void) | undefined, second: () => void): () => void {
  return () => {
    first?.();
    second();
  };
}
