/**
 * Defines tags for tests that a real control plane cannot pass, with the reasons. Runs with a real control plane skip
 * these tests.
 */
import type { Reporter, TestModule } from "vitest/node";
import { IS_REAL } from "../../../infra/lab/stage/control-plane.ts";

const REASONS = {
  faults: "faults are injected into the API server",
  clock: "the test controls the cluster's clock",
  backoff: "the test changes the duration of KubeVirt's own back-off",
  handler: "virt-controller sends requests to virt-handler, which does not serve them in a sandbox",
  groups: "kube-scheduler's feature gate for groups of pods is off",
  images: "KubeVirt's feature gate for volumes of images is off",
  unannotated: "KubeVirt does not annotate launcher pods for the descheduler",
} as const;

export const SIMULATED_ONLY = Object.entries(REASONS).map(([name, description]) => ({
  name,
  description,
  skip: IS_REAL,
}));

/** The tag of long tests. With the simulated control plane, they run only if LIFEBOAT_NIGHTLY is set. */
export const NIGHTLY = {
  name: "nightly",
  description: "tests that take minutes, or create many VMs",
  skip: !IS_REAL && !process.env["LIFEBOAT_NIGHTLY"],
};

/** The factor for timeouts. Tests must also pass on a slow machine, and a real control plane is slower. */
export const PATIENCE = IS_REAL ? 4 : 3;

export class LeftOut implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const all = modules.flatMap((module) => [...module.children.allTests()]);
    const counts = Object.entries(REASONS).flatMap(([tag, reason]) => {
      const count = all.filter(({ tags }) => tags.includes(tag)).length;
      return count === 0 ? [] : [`${count}: ${reason}`];
    });
    const tagged = all.filter(({ tags }) => tags.some((tag) => tag in REASONS)).length;
    console.log(`\nLeft out on this control plane: ${tagged} of ${all.length} tests`);
    for (const line of counts) console.log(`  ${line}`);
  }
}
