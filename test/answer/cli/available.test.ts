/** Tests the messages of `lifeboat install` if Lifeboat's pods are not ready. */
import { expect, test } from "vitest";
import { type DeploymentFacts, type ServerPodFacts, troublesOf } from "../../../infra/cli/install/available.ts";

const IMAGE = "registry.example.com/lifeboat:0.4.0";

function deployment(message?: string): DeploymentFacts {
  const conditions =
    message === undefined ? [] : [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message }];
  const status = { observedGeneration: 1, replicas: 0, updatedReplicas: 0, availableReplicas: 0, conditions };
  return { metadata: { generation: 1 }, spec: { replicas: 2 }, status };
}

type State = ServerPodFacts["status"]["containerStatuses"][number];

const ended = (exitCode: number, reason: string) => ({ terminated: { exitCode, reason, message: "" } });
const waiting = (reason: string, message: string): Partial<State> => ({ state: { waiting: { reason, message } } });
const conditionOf = (type: string, status: string, message = "") => ({ type, status, reason: "", message });

function pod(state: Partial<State>, conditions = [conditionOf("Ready", "False")]): ServerPodFacts {
  const metadata = { name: "lifeboat-server-1", namespace: "lifeboat-system" };
  return {
    metadata,
    status: { conditions, containerStatuses: [{ image: IMAGE, state: {}, lastState: {}, ...state }] },
  };
}

const NO_NODE = [conditionOf("PodScheduled", "False", "0/3 nodes are available: 3 node(s) had untolerated taint(s).")];

// prettier-ignore
test.each<readonly [string, string | undefined, ServerPodFacts | undefined, string, string]>([
  // given                  the Deployment says                                                      its pod                                               what                                                    fix
  ["a quota",               'pods "a" is forbidden: exceeded quota: few, requested: pods=1',         undefined,                                            "pods are refused: pods \"a\" is forbidden: exceeded quota: few", "raise the quota"],
  ["no constraint",         "unable to validate against any security context constraint: [...]",     undefined,                                            "pods are refused: unable to validate against any security context constraint", "add-scc-to-user restricted-v2 -z lifeboat"],
  ["the Pod Security",      'violates PodSecurity "restricted:latest": runAsNonRoot != true',        undefined,                                            "pods are refused: violates PodSecurity",               "meet the restricted Pod Security Standard"],
  ["another webhook",       'admission webhook "a.b" denied the request',                            undefined,                                            'pods are refused: admission webhook "a.b"',            "describe replicasets"],
  ["taints",                undefined,                                                               pod({}, NO_NODE),                                     "no node takes pod lifeboat-server-1: 0/3 nodes",       "two nodes without NoSchedule taints"],
  ["no image",              undefined,                                                               pod(waiting("ErrImagePull", "manifest unknown")),     `image ${IMAGE} cannot be pulled: ErrImagePull: manifest unknown`, "pass --image"],
  ["no image, later",       undefined,                                                               pod(waiting("ImagePullBackOff", "Back-off")),         `image ${IMAGE} cannot be pulled: ImagePullBackOff`,    "imagePullSecrets"],
  ["an image of root",      undefined,                                                               pod(waiting("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")), "cannot start: CreateContainerConfigError: container has runAsNonRoot", "describe pod lifeboat-server-1"],
  ["a crash",               undefined,                                                               pod({ ...waiting("CrashLoopBackOff", "back-off 10s"), lastState: ended(1, "Error") }), "has ended with code 1 (Error)", "logs lifeboat-server-1 --previous"],
  ["too little memory",     undefined,                                                               pod({ state: ended(137, "OOMKilled") }),              "has ended with code 137 (OOMKilled)",                  "logs lifeboat-server-1 --previous"],
  ["no answer yet",         undefined,                                                               pod({}),                                              "pod lifeboat-server-1 is not ready",                   "logs"],
])("given %s, the message says what is wrong and how to fix it", (...[, message, found, what, fix]) => {
  expect(troublesOf(deployment(message), found === undefined ? [] : [found])).toEqual([
    { what: expect.stringContaining(what), fix: expect.stringContaining(fix) },
  ]);
});

test("a ready or terminating pod is no problem", () => {
  const ready = pod({}, [conditionOf("Ready", "True")]);
  const going = pod(waiting("ImagePullBackOff", ""));
  const metadata = { ...going.metadata, deletionTimestamp: "2026-12-01T00:00:00Z" };
  expect(troublesOf(deployment(), [ready, { ...going, metadata }])).toEqual([]);
});
