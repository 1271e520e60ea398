/**
 * A program beside the tests.
 * Owns: starting it, ending it within somebody's patience. Does not own: what it is for (kube-apiserver.ts).
 */
import { spawn } from "node:child_process";
import { basename } from "node:path";

export interface Program {
  /** Settles once it has ended, or could not be started: how. */
  readonly ended: Promise<string>;
  /** Asks it to end, and kills it if it has not by then. */
  end(patienceMs: number): Promise<void>;
}

export function run(command: string, args: readonly string[]): Program {
  const child = spawn(command, args, { stdio: "ignore" });
  const ended = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) => resolve(`${basename(command)} ended with ${signal ?? code}`));
  });
  return {
    ended,
    async end(patienceMs) {
      child.kill();
      const outOfPatience = setTimeout(() => child.kill("SIGKILL"), patienceMs);
      await ended;
      clearTimeout(outOfPatience);
    },
  };
}
