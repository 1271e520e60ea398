/** Tests how descheduling parses each field of a pod, also if the field is missing or null. */
import { expect, test } from "vitest";
import { scheduledPodSchema } from "../../../../shared/kube/schemas/scheduled-pod.ts";
import type { ScheduledPod } from "../../../../shared/kube/scheduled-pod.ts";

const FACTS: ScheduledPod = {
  namespace: "apps",
  name: "web",
  uid: "u-1",
  deleting: false,
  phase: "",
  nodeName: "node01",
  ready: false,
  labels: {},
  annotations: {},
  owners: [],
  tolerations: [],
  createdAt: Date.parse("2026-01-01T00:00:00Z"),
  qosClass: "BestEffort",
  requests: {},
  placement: { nodeSelector: {} },
  antiAffinity: [],
  localStorage: false,
  claims: [],
  hasResourceClaims: false,
};

const METADATA = {
  namespace: "apps",
  name: "web",
  uid: "u-1",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

interface Tweak {
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function read({ metadata, spec, ...status }: Tweak): ScheduledPod {
  const pod = { metadata: { ...METADATA, ...metadata }, spec: { nodeName: "node01", ...spec }, ...status };
  return scheduledPodSchema().parse(pod);
}

const EXISTS = { key: "a", operator: "Exists" };
const IN = { key: "zone", operator: "In", values: ["a", "b"] };
const required = (nodeSelectorTerms: unknown) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
});
const apart = (...terms: readonly unknown[]) => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});

const nulls = (...keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, null]));

// prettier-ignore
const NULLS: Tweak = {
  metadata: nulls("labels", "annotations", "ownerReferences", "deletionTimestamp"),
  spec: nulls("priority", "tolerations", "nodeSelector", "affinity", "containers", "initContainers", "overhead", "resources", "volumes", "resourceClaims"),
  status: nulls("qosClass", "conditions"),
};

test("a pod with nulls has the same facts as a pod with required fields only", () => {
  expect([read({}), read(NULLS)]).toEqual([FACTS, FACTS]);
});

const EVICT = "descheduler.alpha.kubernetes.io/evict";
const T1 = "2026-01-01T00:00:10Z";

// prettier-ignore
test.each<[string, Tweak, Partial<ScheduledPod>]>([
  ["deletion",                           { metadata: { deletionTimestamp: T1 } },                 { deleting: true }],
  ["labels",                             { metadata: { labels: { app: "web", constructor: "x" } } }, { labels: { app: "web", constructor: "x" } }],
  ["annotations of other parties",       { metadata: { annotations: { note: "x", "checksum/config": "y" } } }, { annotations: {} }],
  ["annotations",                        { metadata: { annotations: { [EVICT]: "", "kubevirt.io/domain": "vm", note: "x" } } }, { annotations: { [EVICT]: "", "kubevirt.io/domain": "vm" } }],
  ["owners",                             { metadata: { ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u-2", controller: true }, { kind: "Job", name: "j", uid: "u-3" }] } }, { owners: [{ kind: "ReplicaSet", name: "r", uid: "u-2", controller: true }, { kind: "Job", name: "j", uid: "u-3", controller: false }] }],
  ["priority",                           { spec: { priority: 0 } },                               { priority: 0 }],
  ["tolerations",                        { spec: { tolerations: [{ operator: "Exists" }, { key: "a", operator: "Equal", value: "b", effect: "NoExecute", tolerationSeconds: 0 }, { key: "c", value: "", effect: "" }] } }, { tolerations: [{ operator: "Exists" }, { key: "a", operator: "Equal", value: "b", effect: "NoExecute", tolerationSeconds: 0 }, { key: "c" }] }],
  ["a nodeSelector",                     { spec: { nodeSelector: { zone: "a" } } },               { placement: { nodeSelector: { zone: "a" } } }],
  ["required node affinity",             { spec: required([{ matchExpressions: [IN, EXISTS] }, { matchFields: [IN] }]) }, { placement: { nodeSelector: {}, required: [{ matchExpressions: [IN, { ...EXISTS, values: [] }], matchFields: [] }, { matchExpressions: [], matchFields: [IN] }] } }],
  ["anti-affinity",                      { spec: apart({ topologyKey: "host", labelSelector: { matchLabels: { a: "b" } } }) }, { antiAffinity: [{ topologyKey: "host", namespaces: [], selector: { matchLabels: { a: "b" }, matchExpressions: [] } }] }],
  ["anti-affinity with namespaces",      { spec: apart({ topologyKey: "host", namespaces: ["x"], labelSelector: {} }) }, { antiAffinity: [{ topologyKey: "host", namespaces: ["x"], selector: { matchLabels: {}, matchExpressions: [] } }] }],
  ["topology spread",                    { spec: { topologySpreadConstraints: [{ maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: { matchLabels: { a: "b" } }, matchLabelKeys: ["v"], minDomains: 3, nodeTaintsPolicy: "Honor" }] } }, { spread: [{ maxSkew: 2, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", selector: { matchLabels: { a: "b" }, matchExpressions: [] }, matchLabelKeys: ["v"], minDomains: 3, nodeTaintsPolicy: "Honor" }] }],
  ["anti-affinity without a selector",   { spec: apart({ topologyKey: "host" }) },                { antiAffinity: [{ topologyKey: "host", namespaces: [] }] }],
  ["requests",                           { spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "0.1", memory: "1Ki" } } }, { resources: {} }, {}] } }, { requests: { cpu: 100, memory: 1024 }, qosClass: "Burstable" }],
  ["requests of a sidecar",              { spec: { containers: [{}], initContainers: [{ restartPolicy: "Always", resources: { requests: { cpu: "1" } } }, { resources: { requests: { cpu: "2" } } }] } }, { requests: { cpu: 3000 }, qosClass: "Burstable" }],
  ["requests written as numbers",        { spec: { containers: [{ resources: { requests: { cpu: 0.1, memory: 1024 } } }], overhead: { cpu: 1 } } }, { requests: { cpu: 1100, memory: 1024 }, qosClass: "Burstable" }],
  ["a reported QoS class",               { spec: { containers: [{ resources: { requests: { cpu: "1" } } }] }, status: { qosClass: "Guaranteed" } }, { requests: { cpu: 1000 }, qosClass: "Guaranteed" }],
  ["emptyDir",                           { spec: { volumes: [{ name: "v", configMap: {} }, { name: "e", emptyDir: {} }] } }, { localStorage: true }],
  ["hostPath",                           { spec: { volumes: [{ name: "h", hostPath: { path: "/" } }] } }, { localStorage: true }],
  ["claims",                             { spec: { volumes: [{ persistentVolumeClaim: { claimName: "disk" } }, { persistentVolumeClaim: { claimName: "data" } }] } }, { claims: ["disk", "data"] }],
  ["a claim of an ephemeral volume",     { spec: { volumes: [{ name: "scratch", ephemeral: { volumeClaimTemplate: {} } }] } }, { ephemeralClaims: [`${FACTS.name}-scratch`] }],
  ["resource claims",                    { spec: { resourceClaims: [{ name: "gpu" }] } },         { hasResourceClaims: true }],
  ["readiness",                          { status: { conditions: [{ type: "Ready", status: "True" }] } }, { ready: true }],
])("a pod with %s", (_, tweak, expected) => {
  expect(read(tweak)).toEqual({ ...FACTS, ...expected });
});
