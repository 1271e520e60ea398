/** PodLifeTime: pods that are too old, or are in a state that the policy names. */
import * as z from "zod/mini";
import type { PodState, ScheduledPod } from "../../kube/scheduled-pod.ts";
import { Count, flag, listOf, mapping, oneOfLists } from "./fields.ts";
import { by, nominationsAmong, type Order, selection } from "./nominate.ts";
import type { ArgumentsOf, Plugin } from "./plugin.ts";

// prettier-ignore
const STATES = [
  // Phases
  "Running", "Pending", "Succeeded", "Failed", "Unknown",
  // Reasons of pods
  "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError",
  // What containers wait for
  "PodInitializing", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError",
  "ErrImagePull", "CreateContainerError", "InvalidImageName",
  // Why containers ended
  "OOMKilled", "Error", "Completed", "DeadlineExceeded", "Evicted", "ContainerCannotRun", "StartError",
] as const;

const Arguments = z.lazy(() =>
  mapping({
    ...selection,
    maxPodLifeTimeSeconds: z.exactOptional(Count),
    states: listOf(z.enum(STATES, `expected one of ${STATES.join(", ")}`)),
    ownerKinds: z.exactOptional(oneOfLists("kind of an owner")),
    includingInitContainers: flag(false),
  }).check(
    z.refine(
      ({ maxPodLifeTimeSeconds, states }) => maxPodLifeTimeSeconds !== undefined || states.length > 0,
      "expected maxPodLifeTimeSeconds or states",
    ),
  ),
);
export type Arguments = ArgumentsOf<typeof Arguments>;

export const podLifeTime: Plugin<Arguments> = {
  name: "PodLifeTime",
  extensionPoint: "deschedule",
  arguments: Arguments,
  *nominate(args, world) {
    const seconds = args.maxPodLifeTimeSeconds;
    const reason = seconds === undefined ? {} : { reason: `it is older than ${seconds} s` };
    const nominationOf = (pod: ScheduledPod) => (isChosen(pod, args, world.now) ? { pod, ...reason } : undefined);
    const pods = world.nodes.flatMap(({ name }) => world.podsOn(name));
    for (const nomination of nominationsAmong(pods, { args, world, nominationOf }, OLDEST_FIRST)) {
      // A node's limit does not end anything: the next pod may be on another node.
      if ((yield nomination) === "TotalLimit") return;
    }
  },
};

const OLDEST_FIRST: Order<ScheduledPod> = by((pod) => pod.createdAt);

/** Every argument that is given must hold; of a list, one entry. */
function isChosen(pod: ScheduledPod, args: Arguments, now: Date): boolean {
  const { maxPodLifeTimeSeconds: longest, states } = args;
  const age = Math.floor((now.getTime() - pod.createdAt) / 1000);
  const isOld = longest === undefined || age > longest;
  return isOld && (states.length === 0 || isInState(pod, args)) && isOwned(pod, args);
}

function isInState(pod: ScheduledPod, args: Arguments): boolean {
  const isNamed = (text: string | undefined) => args.states.some((state) => state === text);
  const isIncluded = ({ of }: PodState) => of !== "InitContainer" || args.includingInitContainers;
  return isNamed(pod.phase) || pod.states.some((state) => isIncluded(state) && isNamed(state.reason));
}

function isOwned({ owners }: ScheduledPod, { ownerKinds }: Arguments): boolean {
  const { include = [], exclude = [] } = ownerKinds ?? {};
  const isIncluded = include.length === 0 || owners.some(({ kind }) => include.includes(kind));
  return isIncluded && !owners.some(({ kind }) => exclude.includes(kind));
}
