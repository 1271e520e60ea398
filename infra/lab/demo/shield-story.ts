/**
 * The second act of the story of memory pressure: the same with the shield and without it, where a kubelet sends SIGTERM to VMs before it
 * is their turn to move.
 */
import { KUBEVIRT } from "../../sandbox/kubevirt/manifests.ts";
import { kubeVirts } from "../../sandbox/kubevirt/resources.ts";
import { pressureStory } from "./pressure-story.ts";
import type { Story } from "./story.ts";

const configuration = (maxPodGracePeriodSeconds: number) => ({
  featureGates: { NodePressureEvictionLiveMigration: true },
  shield: { maxPodGracePeriodSeconds },
});

const story = pressureStory({
  about: "the shield",
  lifeboat: { without: configuration(0), withIt: configuration(300) },
  optional: ["optional/shield/shield.yaml"],
  featureGates: ["Plugins"],
  patience: "4s",
  softThreshold: "8Gi",
});

/** One VM after another moves, so that the kubelet's patience ends before it is the turn of most. */
const KUBEVIRT_SPEC = {
  configuration: {
    migrations: { parallelOutboundMigrationsPerNode: 1 },
  },
};

export const shield: Story = {
  ...story,
  async setScene(client) {
    await client.patch(kubeVirts, KUBEVIRT.metadata, { type: "merge", body: { spec: KUBEVIRT_SPEC } });
    return await story.setScene(client);
  },
};
