/** PodLifeTime evicts pods that are too old. The oldest pods are evicted first. */
import * as z from "zod/mini";
import type { ScheduledPod } from "../../kube/scheduled-pod.ts";
import { CountArgument, mapping } from "./fields.ts";
import { nominationsAmong, selection } from "./nominate.ts";
import { by } from "./sort.ts";
import type { ArgumentsOf, Plugin } from "./plugin.ts";
import { PLUGIN_MESSAGES as MESSAGES } from "./messages.ts";

const Arguments = z.lazy(() => mapping({ ...selection, maxPodLifeTimeSeconds: CountArgument }));
export type Arguments = ArgumentsOf<typeof Arguments>;

export const podLifeTime: Plugin<Arguments> = {
  name: "PodLifeTime",
  extensionPoint: "deschedule",
  arguments: Arguments,
  *nominate(args, world) {
    const seconds = args.maxPodLifeTimeSeconds;
    const reason = MESSAGES.tooOld(seconds);
    const ageOf = (pod: ScheduledPod) => Math.floor((world.now.getTime() - pod.createdAt) / 1000);
    const nominationOf = (pod: ScheduledPod) => (ageOf(pod) > seconds ? { pod, reason } : undefined);
    const pods = world.nodes.flatMap(({ name }) => world.podsOn(name));
    const oldestFirst = by((pod: ScheduledPod) => pod.createdAt);
    for (const nomination of nominationsAmong(pods, { args, world, nominationOf }, oldestFirst)) {
      // `NodeLimit` is ignored, because the next pod can be on another node.
      if ((yield nomination) === "TotalLimit") return;
    }
  },
};
