import { defineConfig } from "vitest/config";
import { IS_REAL } from "./infra/tools/control-plane.ts";
import { LeftOut, PATIENCE, SIMULATED_ONLY } from "./test/setup/simulated-only.ts";

/** Folders whose tests share nothing and wait for nothing: their files may share threads, and load each module once. */
const PURE = ["policy", "descheduling", "config", "metrics", "pass"].map((folder) => `test/${folder}/**/*.test.ts`);
/** What only a Worker promises: several clusters, a door for relays and node agents. */
const WORKER_ONLY = process.env["LIFEBOAT_FORM"] === "in-cluster" ? ["test/blackbox/worker/**"] : [];
const TIMEOUT_MS = 60_000 * PATIENCE;

export default defineConfig({
  test: {
    // Most of the time tests wait for workerd, a sandbox or kubectl: as many at a time as there are cores, not one fewer.
    maxWorkers: "100%",
    // A real control plane keeps a core busy by itself.
    ...(IS_REAL && { maxWorkers: "50%", reporters: ["default", new LeftOut()] }),
    projects: [
      { test: { name: "pure", include: PURE, pool: "threads", isolate: false, testTimeout: TIMEOUT_MS } },
      {
        test: {
          name: "lifeboat",
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...WORKER_ONLY],
          globalSetup: ["test/setup/build-worker.ts"],
          tags: SIMULATED_ONLY,
          testTimeout: TIMEOUT_MS,
          hookTimeout: TIMEOUT_MS,
          // The machine may be busy: a test waits for a state of the world, never for a time.
          expect: { poll: { timeout: 20_000 * PATIENCE, interval: 50 } },
        },
      },
      "infra/sandbox",
    ],
  },
});
