/**
 * Runs before each test file, in its process: turns on the one mutation that is tried, or notes which are reached.
 * Ends a process that a mutation keeps busy for ever, which no timeout of a test could.
 */
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import { afterAll, inject } from "vitest";

declare module "vitest" {
  export interface ProvidedContext {
    /** None is on while it is noted what the tests reach. */
    mutation: number | undefined;
    seed: number;
    cpuMilliseconds: number;
  }
  export interface TaskMeta {
    reached?: readonly number[];
  }
}

/** CPU time, so that a busy machine kills nothing. */
const WATCH = `const { workerData } = require("node:worker_threads");
setInterval(() => {
  if (process.cpuUsage().user > workerData * 1000) process.kill(process.pid, "SIGKILL");
}, 500);`;

// A property that fails by chance would make another score of the same mutations.
fc.configureGlobal({ seed: inject("seed") });
const reached = new Set<number>();
const tried = inject("mutation");
Reflect.set(globalThis, "__mutation", tried === undefined ? note : (id: number) => id === tried);
if (!isWatched()) new Worker(WATCH, { eval: true, workerData: inject("cpuMilliseconds") }).unref();

// oxlint-disable-next-line no-empty-pattern -- vitest looks at the first parameter's form
afterAll(({}, file) => {
  file.meta.reached = [...reached];
});

function note(id: number): boolean {
  reached.add(id);
  return false;
}

/** Test files that share a process share the watch. */
function isWatched(): boolean {
  const was = Reflect.has(globalThis, "__watched");
  Reflect.set(globalThis, "__watched", true);
  return was;
}
