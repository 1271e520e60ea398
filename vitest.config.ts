/** Configures vitest: the pure tests, the tests over HTTP, and the tests of the sandbox. */
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { IS_REAL } from "./infra/lab/stage/control-plane.ts";
import LongFiles from "./test/support/setup/long-files.ts";
import { LeftOut, NIGHTLY, PATIENCE, SIMULATED_ONLY } from "./test/support/setup/simulated-only.ts";

/** Tests without shared state and without waits. Their files can share a thread, which loads each module only once. */
const PURE = ["test/decide/**/*.test.ts"];
/** Tests of features that only a Worker has: several clusters, an endpoint for relays, and node agents. */
const WORKER_ONLY = process.env["LIFEBOAT_FORM"] === "in-cluster" ? ["test/live/worker/**"] : [];
/**
 * Tests that always start their own simulated cluster and Worker. The environment's control plane and LIFEBOAT_FORM do
 * not affect them.
 */
const OWN = ["chaos/**", "cli/**", "demo/**", "fuzz.test.ts", "page/**"].map((files) => `test/live/${files}`);
const LEFT_OUT = [...WORKER_ONLY, ...(IS_REAL || WORKER_ONLY.length > 0 ? OWN : [])];
const TIMEOUT_MS = 60_000 * PATIENCE;

// Caches compiled modules, because loading takes a quarter of the time of forks and of programs that tests start.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL(".build/compile-cache", import.meta.url));
/** Lets Node load TypeScript, which is faster than vitest's loader. No test replaces a module. */
const experimental = { viteModuleRunner: false, nodeLoader: false };

export default defineConfig({
  test: {
    // Tests spend a third of their time waiting for workerd, a sandbox or kubectl.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // A real control plane uses a whole core.
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
          // Without isolation, a process loads the sandbox and the product only once for all of its files, which halves
          // the time of a short file. A real control plane keeps objects of earlier files, so it needs isolation.
          isolate: IS_REAL,
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...LEFT_OUT],
          globalSetup: ["test/support/setup/build.ts"],
          tags: [...SIMULATED_ONLY, NIGHTLY],
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          // Tests wait for a state of the cluster, because the duration depends on the machine.
          expect: { poll: { timeout: 20_000 * PATIENCE, interval: 50 } },
          experimental,
        },
      },
      "infra/sandbox",
    ],
  },
});
