/** The status that a kubelet reports for a running pod and for an ended pod. */
import { createHash } from "node:crypto";
import { withCondition, type Condition } from "./conditions.ts";
import type { Pod } from "./resources.ts";

type PodStatus = NonNullable<Pod["status"]>;
type ContainerStatus = NonNullable<PodStatus["containerStatuses"]>[number];

export function isFinished({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

export function needsStart(pod: Pod): boolean {
  return (pod.status?.phase ?? "Pending") === "Pending";
}

export function running(pod: Pod, now: string, isReady = true): PodStatus {
  const podIP = podAddress(pod.metadata.uid);
  const hostIP = podAddress(pod.spec?.nodeName ?? "");
  return {
    ...pod.status,
    phase: "Running",
    startTime: pod.status?.startTime ?? now,
    podIP,
    podIPs: [{ ip: podIP }],
    hostIP,
    hostIPs: [{ ip: hostIP }],
    conditions: conditionsOf(
      pod,
      { Initialized: true, Ready: isReady, ContainersReady: isReady, PodScheduled: true },
      now,
      "ContainersNotReady",
    ),
    containerStatuses: containers(pod, { running: { startedAt: now } }, isReady),
  };
}

/** Returns the status of a pod whose containers have ended. Returns undefined if the pod already has a final phase. */
export function ended(pod: Pod, exitCode: number, now: string): PodStatus | undefined {
  if (isFinished(pod)) return undefined;
  const reason = exitCode === 0 ? "Completed" : "Error";
  const { startTime = now } = pod.status ?? {};
  const state = { terminated: { exitCode, reason, startedAt: startTime, finishedAt: now } };
  return {
    ...pod.status,
    phase: exitCode === 0 ? "Succeeded" : "Failed",
    conditions: conditionsOf(
      pod,
      { Ready: false, ContainersReady: false },
      now,
      exitCode === 0 ? "PodCompleted" : "PodFailed",
    ),
    containerStatuses: containers(pod, state),
  };
}

function containers(pod: Pod, state: ContainerStatus["state"] & object, ready = false): ContainerStatus[] {
  return (pod.spec?.containers ?? []).map(({ name, image = "" }) => ({
    name,
    image,
    imageID: image,
    containerID: `containerd://${createHash("sha256").update(`${pod.metadata.uid}/${name}`).digest("hex")}`,
    ready,
    started: state.running !== undefined,
    restartCount: 0,
    state,
  }));
}

function conditionsOf(pod: Pod, wanted: Record<string, boolean>, now: string, reason?: string) {
  return Object.entries(wanted).reduce<PodStatus["conditions"] & object>(
    (conditions, [type, holds]) =>
      withCondition<Condition>(
        conditions,
        { type, status: holds ? "True" : "False", lastProbeTime: null, ...(!holds && reason && { reason }) },
        now,
      ) as PodStatus["conditions"] & object,
    pod.status?.conditions ?? [],
  );
}

export function podAddress(identity: string): string {
  const [a = 0, b = 0, c = 0] = createHash("sha256").update(identity).digest();
  return `10.${a}.${b}.${(c % 254) + 1}`;
}
