/** Pods that are not what an API server sends: left out, with the field that is to blame. */
import { expect, test } from "vitest";
import { scheduledPodSchema } from "../../../shared/kube/schemas/scheduled-pod.ts";
import { apart, raw, required, type Tweak } from "./raw-pods.ts";

const spec = (tweak: object): Tweak => ({ spec: tweak });
const status = (tweak: object): Tweak => ({ status: tweak });
const metadata = (tweak: object): Tweak => ({ metadata: tweak });

// prettier-ignore
test.each<[string, Tweak]>([
  ["metadata.namespace",           metadata({ namespace: null })],
  ["metadata.name",                metadata({ name: 1 })],
  ["metadata.namespace",           metadata({ namespace: "../kube-system" })],
  ["metadata.name",                metadata({ name: "half-a-\ud800" })],
  ["metadata.uid",                 metadata({ uid: undefined })],
  ["metadata.resourceVersion",     metadata({ resourceVersion: 7 })],
  ["metadata.creationTimestamp",   metadata({ creationTimestamp: null })],
  ["metadata.creationTimestamp",   metadata({ creationTimestamp: "yesterday" })],
  ["metadata.labels.a",            metadata({ labels: { a: 1 } })],
  ["metadata.labels",              metadata({ labels: ["a"] })],
  ["metadata.annotations.note",    metadata({ annotations: { note: {} } })],
  ["metadata.ownerReferences.0.uid", metadata({ ownerReferences: [{ kind: "A", name: "b" }] })],
  ["spec.nodeName",                spec({ nodeName: undefined })],
  ["spec.nodeName",                spec({ nodeName: "" })],
  ["spec.priority",                spec({ priority: "high" })],
  ["spec.containers",              spec({ containers: {} })],
  ["spec.volumes.0",                 spec({ volumes: [1] })],
  ["spec.volumes.0.persistentVolumeClaim.claimName",                 spec({ volumes: [{ persistentVolumeClaim: {} }] })],
  ["spec.resourceClaims",          spec({ resourceClaims: true })],
  ["spec.affinity",                spec({ affinity: "near" })],
  ["status.phase",                 status({ phase: null })],
  ["status.qosClass",              status({ qosClass: "Best" })],
  ["status.conditions.0.status",            status({ conditions: [{ type: "Ready" }] })],
  ["status.conditions.0.reason",            status({ conditions: [{ type: "Ready", status: "True", reason: 1 }] })],
  ["spec.tolerations.0.key",                        spec({ tolerations: [{ key: 1 }] })],
  ["spec.nodeSelector.a",               spec({ nodeSelector: { a: 1 } })],
  ["spec.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.0.matchExpressions.0.key", spec(required([{ matchExpressions: [{ operator: "In" }] }]))],
  ["spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0.topologyKey",                spec(apart({ labelSelector: {} }))],
  ["spec.containers.0.requests.cpu",    spec({ containers: [{ resources: { requests: { cpu: true } } }] })],
  ["spec.overhead",                     spec({ overhead: [] })],
])("an odd pod is none, and it is said what is odd: %s", (path, tweak) => {
  const parsed = scheduledPodSchema().safeParse(raw(tweak));
  expect(parsed.error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
});
