/** PodLifeTime: pods that are too old, or are in a state that the policy names. */
import * as z from "zod/mini";
import type { ScheduledPod } from "../../policy/kube/scheduled-pod.ts";
import { Count, flag, Int32, listOf, mapping, oneOfLists, text } from "./fields.ts";
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

const Condition = z.lazy(() =>
  mapping({
    type: z.exactOptional(text("expected the type of a condition")),
    status: z.exactOptional(text("expected the status of a condition")),
    reason: z.exactOptional(text("expected the reason of a condition")),
    minTimeSinceLastTransitionSeconds: z.exactOptional(Count),
  }).check(
    z.refine(
      (condition) => Object.keys(condition).length > 0,
      "expected type, status, reason or minTimeSinceLastTransitionSeconds",
    ),
  ),
);

const Arguments = z.lazy(() =>
  mapping({
    ...selection,
    maxPodLifeTimeSeconds: z.exactOptional(Count),
    states: listOf(z.enum(STATES, `expected one of ${STATES.join(", ")}`)),
    conditions: listOf(Condition),
    exitCodes: listOf(Int32),
    ownerKinds: z.exactOptional(oneOfLists("kind of an owner")),
    includingInitContainers: flag(false),
    includingEphemeralContainers: flag(false),
  }).check(
    z.refine(
      ({ maxPodLifeTimeSeconds, states, conditions, exitCodes }) =>
        maxPodLifeTimeSeconds !== undefined || states.length + conditions.length + exitCodes.length > 0,
      "expected maxPodLifeTimeSeconds, states, conditions or exitCodes",
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
  const { maxPodLifeTimeSeconds: longest, states, conditions, exitCodes } = args;
  return (
    (longest === undefined || secondsSince(pod.createdAt, now) > longest) &&
    (states.length === 0 || isInState(pod, args)) &&
    (conditions.length === 0 || conditions.some((wanted) => hasCondition(pod, wanted, now))) &&
    (exitCodes.length === 0 || hasExited(pod, args)) &&
    isOwned(pod, args)
  );
}

function secondsSince(time: number, now: Date): number {
  return Math.floor((now.getTime() - time) / 1000);
}

function isInState(pod: ScheduledPod, args: Arguments): boolean {
  const isNamed = (text: string | undefined) => args.states.some((state) => state === text);
  const isIncluded = {
    InitContainer: args.includingInitContainers,
    EphemeralContainer: args.includingEphemeralContainers,
  };
  const counts = { Pod: true, Container: true, ...isIncluded };
  return isNamed(pod.phase) || pod.states.some(({ of, reason }) => counts[of] && isNamed(reason));
}

/** The exit code of ephemeral containers is not asked for, whatever the arguments say: as upstream. */
function hasExited(pod: ScheduledPod, args: Arguments): boolean {
  return pod.states.some(({ of, exitCode }) => {
    if (exitCode === undefined || of === "EphemeralContainer") return false;
    return (of !== "InitContainer" || args.includingInitContainers) && args.exitCodes.includes(exitCode);
  });
}

function isOwned({ owners }: ScheduledPod, { ownerKinds }: Arguments): boolean {
  const { include = [], exclude = [] } = ownerKinds ?? {};
  const isIncluded = include.length === 0 || owners.some(({ kind }) => include.includes(kind));
  return isIncluded && !owners.some(({ kind }) => exclude.includes(kind));
}

function hasCondition({ conditions }: ScheduledPod, wanted: ArgumentsOf<typeof Condition>, now: Date): boolean {
  const { minTimeSinceLastTransitionSeconds: seconds = -Infinity } = wanted;
  return conditions.some((condition) => {
    const { since = Infinity } = condition;
    const isThat = (["type", "status", "reason"] as const).every(
      (key) => (wanted[key] ?? condition[key]) === condition[key],
    );
    return isThat && secondsSince(since, now) >= seconds;
  });
}
