import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "lifeboat",
          include: ["test/**/*.test.ts"],
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
