import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { IS_REAL } from "./infra/lab/stage/control-plane.ts";
import LongFiles from "./test/support/setup/long-files.ts";
import { LeftOut, NIGHTLY, PATIENCE, SIMULATED_ONLY } from "./test/support/setup/simulated-only.ts";

/** Tests without shared state and without waits. Their files may share threads, and load each module once. */
const PURE = ["test/decide/**/*.test.ts"];
/** Tests of features that only a Worker has: several clusters, an endpoint for relays, and node agents. */
const WORKER_ONLY = process.env["LIFEBOAT_FORM"] === "in-cluster" ? ["test/live/worker/**"] : [];
/**
 * Tests that always start their own simulated cluster and Worker. The form and the control plane do not change these
 * tests.
 */
const OWN = ["chaos/**", "cli/**", "demo/**", "fuzz.test.ts", "page/**"].map((files) => `test/live/${files}`);
const LEFT_OUT = [...WORKER_ONLY, ...(IS_REAL || WORKER_ONLY.length > 0 ? OWN : [])];
const TIMEOUT_MS = 60_000 * PATIENCE;

// Caches compiled modules of forks and of the programs that tests start, which spend a quarter of their time on loading.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL(".build/compile-cache", import.meta.url));
/** Lets Node load TypeScript itself, which takes a fraction of the time. No test replaces a module. */
const experimental = { viteModuleRunner: false, nodeLoader: false };

export default defineConfig({
  test: {
    // Tests wait for workerd, a sandbox or kubectl during a third of the time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // A real control plane keeps a core busy by itself.
    ...(IS_REAL && { maxWorkers: "50%" }),
    reporters: ["default", IS_REAL ? new LeftOut() : new LongFiles()],
    projects: [
      {
        test: {
          name: "pure",
          include: PURE,
          pool: "threads",
          isolate: false,
          testTimeout: TIMEOUT_MS,
          experimental,
        },
      },
      {
        test: {
          name: "lifeboat",
          // A process loads the sandbox and the product once for all of its files, which halves the time of a short
          // file. A real control plane would keep the objects that an earlier file leaves.
          isolate: IS_REAL,
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...LEFT_OUT],
          globalSetup: ["test/support/setup/build.ts"],
          tags: [...SIMULATED_ONLY, NIGHTLY],
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          // A test waits for a state of the cluster, never for a time, because the machine may be busy.
          expect: { poll: { timeout: 20_000 * PATIENCE, interval: 50 } },
          experimental,
        },
      },
      "infra/sandbox",
    ],
  },
});
