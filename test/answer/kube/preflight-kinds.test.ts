/** Tests how Lifeboat parses the kinds that only a preflight reads. */
import { expect, test } from "vitest";
import { KubeVirt } from "../../../shared/kube/schemas/kubevirt.ts";
import { PersistentVolume, ResourceQuota } from "../../../shared/preflight/kinds.ts";
import { preflightPodSchema } from "../../../shared/preflight/preflight-pod.ts";

const CLAIM = { namespace: "apps", name: "root" };
const terms = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["1"] }] }];
const LOCAL = { required: { nodeSelectorTerms: terms } };
const BOUND = { phase: "Bound" };
const reachedFrom = [{ matchExpressions: [{ key: "zone", operator: "In", values: ["1"] }], matchFields: [] }];

// prettier-ignore
test.each<[string, object, object | undefined]>([
  ["that some nodes reach is read",              { spec: { claimRef: CLAIM, nodeAffinity: LOCAL }, status: BOUND },                  { namespace: "apps", claim: "root", reachedFrom }],
  ["that every node reaches is ignored",         { spec: { claimRef: CLAIM }, status: BOUND },                                       undefined],
  ["whose claim is gone is ignored",             { spec: { claimRef: CLAIM, nodeAffinity: LOCAL }, status: { phase: "Released" } },  undefined],
])("a PersistentVolume %s", (_, volume, expected) => {
  expect(PersistentVolume.parse(volume)).toEqual(expected);
});

// prettier-ignore
test.each<[unknown, number | undefined]>([
  ["64Mi",    64 * 1024 ** 2],
  [1000,      1000],
  [null,      undefined],
  [undefined, undefined],
])("bandwidthPerMigration %j means %j bytes per second", (bandwidthPerMigration, expected) => {
  const metadata = { namespace: "kubevirt", name: "kubevirt", uid: "u", resourceVersion: "1" };
  const { bandwidthPerMigration: read } = KubeVirt.parse({ metadata, spec: { configuration: { migrations: { bandwidthPerMigration } } } });
  expect(read).toBe(expected);
});

const limits = (cpu: string, memory?: string) => ({ resources: { limits: { cpu, ...(memory && { memory }) } } });
const podOf = (metadata: object, spec: object) =>
  preflightPodSchema().parse({
    metadata: {
      namespace: "apps",
      name: "p",
      uid: "u",
      resourceVersion: "1",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    spec: { nodeName: "node01", containers: [], ...spec },
    status: {},
  });

test("a pod names the scheduling rules that are not judged", () => {
  const near = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } };
  const topologySpreadConstraints = [{ whenUnsatisfiable: "DoNotSchedule", topologyKey: "zone", maxSkew: 1 }];
  expect(podOf({}, { affinity: near }).unchecked).toEqual(["podAffinity"]);
  expect(podOf({}, { topologySpreadConstraints }).unchecked).toEqual([]);
});

test("a pod has the limits of all its containers, and overhead for limited resources", () => {
  const pod = podOf(
    {},
    {
      containers: [limits("1"), limits("500m", "1Gi")],
      initContainers: [limits("4"), { ...limits("100m"), restartPolicy: "Always" }],
      overhead: { memory: "64Mi", "ephemeral-storage": "1Gi" },
    },
  );
  expect(pod.limits).toEqual({ cpu: 4000, memory: 1024 ** 3 + 64 * 1024 ** 2 });
});

// prettier-ignore
test.each<[string, metadata: object, spec: object, expected: object]>([
  ["a host port, which is not judged",        {},   { containers: [{ resources: {} }, { resources: {}, ports: [{ containerPort: 1 }, { hostPort: 8080 }] }] }, { unchecked: ["hostPort"] }],
  ["a port, which needs no judgement",        {},   { containers: [{ resources: {}, ports: [{ containerPort: 1 }] }] },             { unchecked: [] }],
  ["resource claims, which are not judged",   {},   { resourceClaims: [{ name: "gpu" }] },                                          { unchecked: ["resourceClaims"] }],
  ["an emptyDir",                             {},   { volumes: [{ name: "a", configMap: {} }, { name: "b", emptyDir: {} }] },       { localStorage: true }],
  ["no emptyDir",                             {},   { volumes: [{ name: "a", configMap: {} }] },                                    { localStorage: false }],
  ["the end of its deletion and finalizers",  { deletionTimestamp: "2026-01-01T00:00:30Z", finalizers: ["example.com/x"] }, {},     { goneBy: Date.parse("2026-01-01T00:00:30Z"), finalizers: ["example.com/x"] }],
])("a pod is read with %s", (_, metadata, spec, expected) => {
  expect(podOf(metadata, spec)).toMatchObject(expected);
});

// prettier-ignore
test.each<[string, object, object]>([
  ["with a status",            { spec: { hard: { pods: "4", "requests.memory": "8Gi", "limits.cpu": "2" } }, status: { hard: { pods: "4", "requests.memory": "8Gi", "limits.cpu": "2" }, used: { pods: "1", "requests.memory": "1Gi", "limits.cpu": "500m" } } },
                         { hard: { pods: 4, "requests.memory": 8 * 1024 ** 3, "limits.cpu": 2000 }, used: { pods: 1, "requests.memory": 1024 ** 3, "limits.cpu": 500 }, scopes: [], counted: true }],
  ["without a status",    { spec: { hard: { pods: "4" } }, status: {} },                                     { hard: {}, used: {}, counted: false }],
  ["with scopes",         { spec: { scopes: ["NotBestEffort"], scopeSelector: { matchExpressions: [{ operator: "In", scopeName: "PriorityClass", values: ["high"] }] } } }, { scopes: ["NotBestEffort", "PriorityClass"] }],
])("a ResourceQuota %s is read", (_, quota, expected) => {
  expect(ResourceQuota.parse({ metadata: { namespace: "apps", name: "team" }, ...quota })).toMatchObject({ namespace: "apps", name: "team", ...expected });
});

test("a ResourceQuota names its writers", () => {
  const own = { labels: { "aaq.kubevirt.io": "true" }, annotations: { a: "b" } };
  const managedFields = [{ manager: "kubectl", operation: "Update" }, { manager: "mtq-controller" }, {}];
  const { marks } = ResourceQuota.parse({ metadata: { namespace: "apps", name: "team", ...own, managedFields } });
  expect(marks).toEqual({ ...own, managers: ["kubectl", "mtq-controller"] });
});
