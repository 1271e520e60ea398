/**
 * Tests that Lifeboat's pods satisfy the Pod Security Standard `restricted` and OpenShift's restricted-v2. OpenShift
 * assigns user IDs to each namespace.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import * as z from "zod";
import { manifestsIn } from "../../../infra/cli/install/manifests.ts";

const Security = z.record(z.string(), z.unknown()).default({});
const Container = z.looseObject({
  securityContext: Security,
  ports: z.array(z.looseObject({ hostPort: z.number().optional() })).default([]),
});
const PodSpec = z.looseObject({
  securityContext: Security,
  containers: z.array(Container).min(1),
  initContainers: z.array(Container).default([]),
  volumes: z.array(z.record(z.string(), z.unknown())).default([]),
});
type PodSpec = z.output<typeof PodSpec>;
const Workload = z.looseObject({ spec: z.looseObject({ template: z.looseObject({ spec: PodSpec }) }) });

const VOLUMES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];
const SECCOMP = z.looseObject({ type: z.enum(["RuntimeDefault", "Localhost"]) });
const CAPABILITIES = z.strictObject({
  drop: z.tuple([z.literal("ALL")]),
  add: z.array(z.literal("NET_BIND_SERVICE")).optional(),
});

/** https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted, then OpenShift's restricted-v2. */
// prettier-ignore
const RULES: readonly (readonly [string, (pod: PodSpec) => boolean])[] = [
  ["its pods use no host namespace",          (pod) => !["hostNetwork", "hostPID", "hostIPC"].some((field) => field in pod)],
  ["its pods use no host port",               (pod) => all(pod).every(({ ports }) => ports.every(({ hostPort }) => hostPort === undefined))],
  ["its pods use no host volume",             ({ volumes }) => volumes.every((volume) => Object.keys(volume).every((key) => key === "name" || VOLUMES.includes(key)))],
  ["its containers are not privileged",                    (pod) => contexts(pod).every((context) => !["privileged", "procMount", "sysctls", "seLinuxOptions", "windowsOptions", "appArmorProfile"].some((field) => field in context))],
  ["its containers cannot escalate privileges",    (pod) => all(pod).every(({ securityContext }) => securityContext["allowPrivilegeEscalation"] === false)],
  ["its containers have no capabilities",                   (pod) => all(pod).every(({ securityContext }) => CAPABILITIES.safeParse(securityContext["capabilities"]).success)],
  ["its containers do not run as root",                          ({ securityContext }) => securityContext["runAsNonRoot"] === true],
  ["its pods have a seccomp profile",                 ({ securityContext }) => SECCOMP.safeParse(securityContext["seccompProfile"]).success],
  ["its pods have no fixed user or group, for OpenShift", (pod) => contexts(pod).every((context) => !["runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"].some((field) => field in context))],
  ["its containers have a read-only root filesystem",         (pod) => all(pod).every(({ securityContext }) => securityContext["readOnlyRootFilesystem"] === true)],
];

function all({ containers, initContainers }: PodSpec) {
  return [...containers, ...initContainers];
}

function contexts(pod: PodSpec) {
  return [pod.securityContext, ...all(pod).map(({ securityContext }) => securityContext)];
}

const FILES = ["server/kubernetes/component/deployment.yaml", "relay/kubernetes/deployment.yaml"];

test.each(FILES.flatMap((file) => RULES.map(([rule, isKept]) => [file, rule, isKept] as const)))(
  "%s: %s",
  (file, _, isKept) => {
    const [deployment] = manifestsIn(file);
    expect(isKept(Workload.parse(deployment).spec.template.spec)).toBe(true);
  },
);

test("the namespace enforces the standard", () => {
  const [namespace] = manifestsIn("kubernetes/namespace.yaml");
  expect(namespace?.metadata.labels).toMatchObject({ "pod-security.kubernetes.io/enforce": "restricted" });
});

test("the image's user is a number, so a node sees that the user is not root", () => {
  const dockerfile = readFileSync(fileURLToPath(new URL("../../../infra/Dockerfile", import.meta.url)), "utf8");
  expect(/^USER (\d+)/m.exec(dockerfile)?.[1]).toBe("1000");
});
