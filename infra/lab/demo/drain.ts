/** Drains a node as an administrator would: with the kubectl on the PATH if there is one, else with the same requests. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { KubeClient } from "../../sandbox/actors/client.ts";
import { drainNode } from "../stage/drain-client.ts";

export interface DrainOptions {
  readonly client: KubeClient;
  /** Path of the kubeconfig of the same cluster. */
  readonly kubeconfig: string;
  readonly node: string;
  readonly onLine: (line: string) => void;
}

export interface Drain {
  /** What drains, in words. */
  readonly by: string;
  /** Resolves to the exit code. */
  readonly done: Promise<number>;
  stop(): void;
}

const FLAGS = ["--ignore-daemonsets", "--delete-emptydir-data"];

/** Version of the kubectl on the PATH, if there is one that runs. */
export function findKubectl(): string | undefined {
  const { status, stdout } = spawnSync("kubectl", ["version", "--client"], { encoding: "utf8" });
  return status === 0 ? (/Client Version: (?<version>\S+)/.exec(stdout)?.groups?.["version"] ?? "unknown") : undefined;
}

export function startDrain(options: DrainOptions): Drain {
  const version = findKubectl();
  return version === undefined ? withClient(options) : withKubectl(options, version);
}

function withKubectl({ kubeconfig, node, onLine }: DrainOptions, version: string): Drain {
  const child = spawn("kubectl", ["drain", node, ...FLAGS], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", onLine);
  const done = once(child, "close").then(([code]) => (typeof code === "number" ? code : 1));
  return { by: `kubectl drain ${node} ${FLAGS.join(" ")}  (kubectl ${version})`, done, stop: () => child.kill() };
}

function withClient({ client, node, onLine }: DrainOptions): Drain {
  const stopped = new AbortController();
  const done = drainNode({ client, node, onLine, signal: stopped.signal }).then(
    (drained) => (drained ? 0 : 1),
    (error: unknown) => {
      onLine(`error: ${error instanceof Error ? error.message : String(error)}`);
      return 1;
    },
  );
  return {
    by: `the requests of kubectl drain ${node} ${FLAGS.join(" ")}  (no kubectl on the PATH)`,
    done,
    stop: () => stopped.abort(),
  };
}
