/** PodLifeTime: pods that are too old, or are in a state that the policy names. */
import * as z from "zod/mini";
import type { PodCondition, PodState, ScheduledPod } from "../../policy/kube/scheduled-pod.ts";
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
  return (
    isOld(pod, args, now) &&
    isInState(pod, args) &&
    isOwned(pod, args) &&
    hasCondition(pod, args, now) &&
    hasExited(pod, args)
  );
}

function secondsSince(time: number, now: Date): number {
  return Math.floor((now.getTime() - time) / 1000);
}

function isOld(pod: ScheduledPod, { maxPodLifeTimeSeconds }: Arguments, now: Date): boolean {
  return maxPodLifeTimeSeconds === undefined || secondsSince(pod.createdAt, now) > maxPodLifeTimeSeconds;
}

function isInState(pod: ScheduledPod, args: Arguments): boolean {
  const isNamed = (text: string | undefined) => args.states.some((state) => state === text);
  if (args.states.length === 0 || isNamed(pod.phase)) return true;
  return pod.states.some(({ of, reason }) => STATE_COUNTS[of](args) && isNamed(reason));
}

const STATE_COUNTS = {
  Pod: () => true,
  Container: () => true,
  InitContainer: (args) => args.includingInitContainers,
  EphemeralContainer: (args) => args.includingEphemeralContainers,
} as const satisfies Record<PodState["of"], (args: Arguments) => boolean>;

/** The exit code of ephemeral containers is not asked for, whatever the arguments say: as upstream. */
const EXIT_CODE_COUNTS = {
  ...STATE_COUNTS,
  EphemeralContainer: () => false,
} as const satisfies typeof STATE_COUNTS;

function hasExited(pod: ScheduledPod, args: Arguments): boolean {
  if (args.exitCodes.length === 0) return true;
  return pod.states.some(({ of, exitCode }) => {
    return exitCode !== undefined && EXIT_CODE_COUNTS[of](args) && args.exitCodes.includes(exitCode);
  });
}

function isOwned({ owners }: ScheduledPod, { ownerKinds }: Arguments): boolean {
  const { include = [], exclude = [] } = ownerKinds ?? {};
  const isIncluded = include.length === 0 || owners.some(({ kind }) => include.includes(kind));
  return isIncluded && !owners.some(({ kind }) => exclude.includes(kind));
}

function hasCondition(pod: ScheduledPod, args: Arguments, now: Date): boolean {
  if (args.conditions.length === 0) return true;
  return args.conditions.some((wanted) => pod.conditions.some((condition) => isThat(condition, wanted, now)));
}

function isThat(condition: PodCondition, wanted: ArgumentsOf<typeof Condition>, now: Date): boolean {
  const { type = condition.type, status = condition.status, reason = condition.reason } = wanted;
  if (type !== condition.type || status !== condition.status || reason !== condition.reason) return false;
  const seconds = wanted.minTimeSinceLastTransitionSeconds;
  if (seconds === undefined) return true;
  return condition.since !== undefined && secondsSince(condition.since, now) >= seconds;
}
