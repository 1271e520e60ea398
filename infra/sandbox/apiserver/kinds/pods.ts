/** The defaults, mutable fields and table columns of pods. */
import { isDeepStrictEqual } from "node:util";
import { type KubeObject, type Tree, fieldAt, isRecord, stringAt, recordsAt, childOf } from "../objects.ts";
import type { FieldError } from "../status.ts";
import { forbiddenValue, requiredValue, unless } from "../field-errors.ts";
import { builtIn } from "./built-in.ts";
import { ageOf } from "./columns.ts";

export const PODS = builtIn("Pod", {
  cells: {
    Ready: (pod) => `${readyContainers(pod)}/${recordsAt(pod, "spec.containers").length}`,
    Status: podStatus,
    Restarts: podRestarts,
  },
  applyDefaults: applyPodDefaults,
  validate: validatePod,
});

const CONTAINERS = ["containers", "initContainers", "ephemeralContainers"] as const;

/** The DefaultTolerationSeconds admission plugin makes every pod tolerate these taints for a limited time. */
const NODE_PROBLEMS = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

function applyPodDefaults(pod: KubeObject): void {
  const spec = childOf(pod, "spec");
  for (const container of CONTAINERS.flatMap((list) => recordsAt(spec, list))) applyPullPolicy(container);
  if (spec.nodeName === "") delete spec.nodeName;
  if (spec.serviceAccountName !== undefined) spec.serviceAccount ??= spec.serviceAccountName;
  spec.tolerations = withDefaultTolerations(recordsAt(spec, "tolerations"));
}

function withDefaultTolerations(tolerations: readonly Tree[]): readonly Tree[] {
  const isTolerated = (key: string): boolean =>
    tolerations.some(
      (one) => (one.key === undefined || one.key === "" || one.key === key) && one.effect !== "NoSchedule",
    );
  const missing = NODE_PROBLEMS.filter((key) => !isTolerated(key));
  const added = missing.map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: 300 }));
  return [...tolerations, ...added];
}

function applyPullPolicy(container: Tree): void {
  const tag = /:([^/:]+)$/.exec(stringAt(container, "image"))?.[1];
  container.imagePullPolicy ??= tag === undefined || tag === "latest" ? "Always" : "IfNotPresent";
}

function validatePod(pod: KubeObject, previous: KubeObject | undefined): readonly FieldError[] {
  const containers = recordsAt(pod, "spec.containers");
  const errors = containers.length === 0 ? [requiredValue("spec.containers")] : containers.flatMap(validateContainer);
  return previous === undefined ? errors : [...errors, ...validatePodUpdate(pod, previous)];
}

function validateContainer(container: Record<string, unknown>, index: number): readonly FieldError[] {
  const field = `spec.containers[${index}]`;
  const named = stringAt(container, "name") === "" ? [requiredValue(`${field}.name`)] : [];
  return stringAt(container, "image") === "" ? [...named, requiredValue(`${field}.image`)] : named;
}

const MUTABLE = new Set(["containers", "initContainers", "activeDeadlineSeconds", "tolerations", "schedulingGates"]);

function validatePodUpdate(pod: KubeObject, previous: KubeObject): readonly FieldError[] {
  const [spec, old] = [pod.spec, previous.spec];
  if (!isRecord(spec) || !isRecord(old)) return [];
  const resized = ["containers", "initContainers"].find(
    (list) => recordsAt(spec, list).length !== recordsAt(old, list).length,
  );
  if (resized !== undefined) return [forbiddenValue(`spec.${resized}`, "pod updates may not add or remove containers")];
  const fields = new Set([...Object.keys(spec), ...Object.keys(old)]);
  const changed = [...fields].filter((field) => {
    if (field === "terminationGracePeriodSeconds" && old[field] === 1) return false;
    if (field === "containers" || field === "initContainers")
      return withoutImages(spec[field]) !== withoutImages(old[field]);
    return !MUTABLE.has(field) && JSON.stringify(spec[field]) !== JSON.stringify(old[field]);
  });
  const kept = tolerationsOf(old).every((one) => tolerationsOf(spec).some((other) => isDeepStrictEqual(one, other)));
  return [
    ...unless(kept, forbiddenValue("spec.tolerations", TOLERATIONS_MESSAGE)),
    ...unless(changed.length === 0, forbiddenValue("spec", POD_UPDATE_MESSAGE)),
  ];
}

function tolerationsOf(spec: Tree): readonly Tree[] {
  return recordsAt(spec, "tolerations").map(({ tolerationSeconds: _mayChange, ...rest }) => rest);
}

const TOLERATIONS_MESSAGE = "existing toleration can not be modified except its tolerationSeconds";

const POD_UPDATE_MESSAGE =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`," +
  "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)," +
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

function withoutImages(containers: unknown): string {
  return JSON.stringify(
    recordsAt({ containers }, "containers").map(({ image: _image, imagePullPolicy: _policy, ...rest }) => rest),
  );
}

function readyContainers(pod: KubeObject): number {
  return recordsAt(pod, "status.containerStatuses").filter((one) => one.ready === true).length;
}

function podStatus(pod: KubeObject): string {
  const waiting = recordsAt(pod, "status.containerStatuses")
    .map((one) => stringAt(one, "state.waiting.reason") || stringAt(one, "state.terminated.reason"))
    .find((reason) => reason !== "");
  const phase = stringAt(pod, "status.reason") || waiting || stringAt(pod, "status.phase");
  if (pod.metadata.deletionTimestamp === undefined) return phase;
  return stringAt(pod, "status.reason") === "NodeLost" ? "Unknown" : "Terminating";
}

function podRestarts(pod: KubeObject, now: Date): string {
  const statuses = recordsAt(pod, "status.containerStatuses");
  const count = statuses.reduce((sum, one) => sum + Number(one.restartCount ?? 0), 0);
  const last = statuses.map((one) => fieldAt(one, "lastState.terminated.finishedAt")).find((at) => at !== undefined);
  return count === 0 || last === undefined ? String(count) : `${count} (${ageOf(last, now)} ago)`;
}
