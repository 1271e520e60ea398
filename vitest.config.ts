import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Most of the time tests wait for workerd, a sandbox or kubectl: as many at a time as there are cores, not one fewer.
    maxWorkers: "100%",
    projects: [
      {
        test: {
          name: "lifeboat",
          include: ["test/**/*.test.ts"],
          // What only a Worker promises: several clusters, a door for relays and node agents.
          exclude: process.env["LIFEBOAT_FORM"] === "in-cluster" ? ["test/blackbox/worker/**"] : [],
          globalSetup: ["test/setup/build-worker.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          // The machine may be busy: a test waits for a state of the world, never for a time.
          expect: { poll: { timeout: 20_000, interval: 50 } },
        },
      },
      "infra/sandbox",
    ],
  },
});
