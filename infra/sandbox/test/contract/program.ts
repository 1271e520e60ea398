/**
 * A program that runs beside the tests.
 * Owns: starting it, stopping it within a time limit. Does not own: its purpose (kube-apiserver.ts).
 */
import { spawn } from "node:child_process";
import { basename } from "node:path";

export interface Program {
  /** Settles when it has ended, or could not be started, with the reason. */
  readonly ended: Promise<string>;
  /** Sends SIGTERM, and kills it if it has not ended in time. */
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
