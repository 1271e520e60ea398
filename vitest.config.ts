import { defineConfig } from "vitest/config";
import { IS_REAL } from "./infra/tools/control-plane.ts";
import { LeftOut, PATIENCE, SIMULATED_ONLY } from "./test/setup/simulated-only.ts";

export default defineConfig({
  test: {
    // Most of the time tests wait for workerd, a sandbox or kubectl: as many at a time as there are cores, not one fewer.
    maxWorkers: "100%",
    // A real control plane keeps a core busy by itself.
    ...(IS_REAL && { maxWorkers: "50%", reporters: ["default", new LeftOut()] }),
    projects: [
      {
        test: {
          name: "lifeboat",
          include: ["test/**/*.test.ts"],
          // What only a Worker promises: several clusters, a door for relays and node agents.
          exclude: process.env["LIFEBOAT_FORM"] === "in-cluster" ? ["test/blackbox/worker/**"] : [],
          globalSetup: ["test/setup/build-worker.ts"],
          tags: SIMULATED_ONLY,
          testTimeout: 60_000 * PATIENCE,
          hookTimeout: 60_000 * PATIENCE,
          // The machine may be busy: a test waits for a state of the world, never for a time.
          expect: { poll: { timeout: 20_000 * PATIENCE, interval: 50 } },
        },
      },
      "infra/sandbox",
    ],
  },
});
