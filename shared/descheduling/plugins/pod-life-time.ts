/** PodLifeTime: pods that are too old, or are in a state that the policy names. */
import type { PodLifeTimeArguments, PodConditionArgument } from "./arguments.ts";
import type { DeschedulerPod, PodCondition, PodState } from "./facts.ts";
import { nominationsAmong } from "./nominate.ts";
import type { Plugin } from "./plugin.ts";
import { by, type Order } from "./sort.ts";

export const podLifeTime: Plugin<PodLifeTimeArguments> = {
  name: "PodLifeTime",
  extensionPoint: "deschedule",
  *nominate(args, world) {
    const seconds = args.maxPodLifeTimeSeconds;
    const reason = seconds === undefined ? {} : { reason: `it is older than ${seconds} s` };
    const nominationOf = (pod: DeschedulerPod) => (isChosen(pod, args, world.now) ? { pod, ...reason } : undefined);
    const pods = world.nodes.flatMap(({ name }) => world.podsOn(name));
    for (const nomination of nominationsAmong(pods, { args, world, nominationOf }, OLDEST_FIRST)) {
      // A node's limit does not end anything: the next pod may be on another node.
      if ((yield nomination) === "TotalLimit") return;
    }
  },
};

const OLDEST_FIRST: Order<DeschedulerPod> = by((pod) => pod.createdAt);

/** Every argument that is given must hold; of a list, one entry. */
function isChosen(pod: DeschedulerPod, args: PodLifeTimeArguments, now: Date): boolean {
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

function isOld(pod: DeschedulerPod, { maxPodLifeTimeSeconds }: PodLifeTimeArguments, now: Date): boolean {
  return maxPodLifeTimeSeconds === undefined || secondsSince(pod.createdAt, now) > maxPodLifeTimeSeconds;
}

function isInState(pod: DeschedulerPod, args: PodLifeTimeArguments): boolean {
  const isNamed = (text: string | undefined) => text !== undefined && args.states.includes(text);
  if (args.states.length === 0 || isNamed(pod.phase)) return true;
  return pod.states.some(({ of, reason }) => STATE_COUNTS[of](args) && isNamed(reason));
}

const STATE_COUNTS = {
  Pod: () => true,
  Container: () => true,
  InitContainer: (args) => args.includingInitContainers,
  EphemeralContainer: (args) => args.includingEphemeralContainers,
} as const satisfies Record<PodState["of"], (args: PodLifeTimeArguments) => boolean>;

/** The exit code of ephemeral containers is not asked for, whatever the arguments say: as upstream. */
const EXIT_CODE_COUNTS = {
  ...STATE_COUNTS,
  EphemeralContainer: () => false,
} as const satisfies typeof STATE_COUNTS;

function hasExited(pod: DeschedulerPod, args: PodLifeTimeArguments): boolean {
  if (args.exitCodes.length === 0) return true;
  return pod.states.some(({ of, exitCode }) => {
    return exitCode !== undefined && EXIT_CODE_COUNTS[of](args) && args.exitCodes.includes(exitCode);
  });
}

function isOwned({ owners }: DeschedulerPod, { ownerKinds }: PodLifeTimeArguments): boolean {
  const { include = [], exclude = [] } = ownerKinds ?? {};
  const isIncluded = include.length === 0 || owners.some(({ kind }) => include.includes(kind));
  return isIncluded && !owners.some(({ kind }) => exclude.includes(kind));
}

function hasCondition(pod: DeschedulerPod, args: PodLifeTimeArguments, now: Date): boolean {
  if (args.conditions.length === 0) return true;
  return args.conditions.some((wanted) => pod.conditions.some((condition) => isThat(condition, wanted, now)));
}

function isThat(condition: PodCondition, wanted: PodConditionArgument, now: Date): boolean {
  const { type = condition.type, status = condition.status, reason = condition.reason } = wanted;
  if (type !== condition.type || status !== condition.status || reason !== condition.reason) return false;
  const seconds = wanted.minTimeSinceLastTransitionSeconds;
  if (seconds === undefined) return true;
  return condition.since !== undefined && secondsSince(condition.since, now) >= seconds;
}
