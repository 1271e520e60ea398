import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { IS_REAL } from "./infra/lab/stage/control-plane.ts";
import LongFiles from "./test/support/setup/long-files.ts";
import { LeftOut, NIGHTLY, PATIENCE, SIMULATED_ONLY } from "./test/support/setup/simulated-only.ts";

/** Tests that share nothing and wait for nothing: their files may share threads, and load each module once. */
const PURE = ["test/decide/**/*.test.ts"];
/** Tests of promises that only a Worker makes: several clusters, an endpoint for relays and node agents. */
const WORKER_ONLY = process.env["LIFEBOAT_FORM"] === "in-cluster" ? ["test/live/worker/**"] : [];
/** Tests that start their own simulated cluster and Worker, in every form and with every control plane. */
const OWN = ["chaos/**", "cli/**", "demo/**", "fuzz.test.ts", "page/**"].map((files) => `test/live/${files}`);
const LEFT_OUT = [...WORKER_ONLY, ...(IS_REAL || WORKER_ONLY.length > 0 ? OWN : [])];
const TIMEOUT_MS = 60_000 * PATIENCE;

// Caches compiled modules of forks and of the programs that tests start, which spend a quarter of their time on loading.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(new URL(".build/compile-cache", import.meta.url));
/** Node loads TypeScript itself, as it does for every command here, in a fraction of the time. No test replaces a module. */
const experimental = { viteModuleRunner: false, nodeLoader: false };

export default defineConfig({
  test: {
    // For a third of the time tests wait for workerd, a sandbox or kubectl.
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
          // A process loads the sandbox and the product once for all of its files: half of what a short file costs. A real control
          // plane is used again within a process, and keeps what a file leaves in it.
          isolate: IS_REAL,
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...LEFT_OUT],
          globalSetup: ["test/support/setup/build.ts"],
          tags: [...SIMULATED_ONLY, NIGHTLY],
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          // The machine may be busy: a test waits for a state of the world, never for a time.
          expect: { poll: { timeout: 20_000 * PATIENCE, interval: 50 } },
          experimental,
        },
      },
      "infra/sandbox",
    ],
  },
});
