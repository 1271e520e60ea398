/** Runs a part of the benchmark in a separate process. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type * as z from "zod";
import { cpuMsOf } from "./processes.ts";

export interface Child {
  next<S extends z.ZodType>(schema: S): Promise<z.output<S>>;
  tell(message: Readonly<Record<string, unknown>>): void;
  cpuMs(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts a child process. `file` is a path relative to this folder. The child reads `argument` with `argumentOf`. */
export function startChild(file: string, argument: unknown): Child {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = fork(path, [JSON.stringify(argument)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const heard: unknown[] = [];
  child.on("message", (message) => void heard.push(message));
  let ended = false;
  const end = once(child, "exit").then(() => void (ended = true));
  return {
    async next(schema) {
      while (heard.length === 0) {
        if (ended) throw new Error(`${file} has ended (exit code or signal: ${child.exitCode ?? child.signalCode})`);
        const over = new AbortController();
        await Promise.race([once(child, "message", { signal: over.signal }), end]).finally(() => over.abort());
      }
      return schema.parse(heard.shift());
    },
    tell: (message) => void child.send(message),
    cpuMs: () => cpuMsOf(child.pid ?? 0),
    async stop() {
      if (!ended) child.kill();
      await end;
    },
  };
}

/** Returns the argument from the parent process. Only a child process calls this function. */
export function argumentOf<S extends z.ZodType>(schema: S): z.output<S> {
  return schema.parse(JSON.parse(process.argv[2] ?? ""));
}

export function say(message: Readonly<Record<string, unknown>>): void {
  process.send?.(message);
}
