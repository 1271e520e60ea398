/** Configures vitest for the sandbox's own tests. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    name: "sandbox",
    include: ["test/**/*.test.ts"],
    // Each process loads the sandbox once for all its test files.
    isolate: false,
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000, interval: 50 } },
    // Node.js loads TypeScript without Vite.
    experimental: { viteModuleRunner: false, nodeLoader: false },
  },
});
