/** Special rules of single kinds: nodes, leases, events, secrets, workloads. */
import { contract } from "./contract.ts";
import { del, get, patch, post, put } from "./requests.ts";

contract("nodes", ({ asks, given, namespace }) => {
  const node = `/api/v1/nodes/${namespace}`;
  given("a node", post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: namespace } }));
  asks("cordon", patch(node, "strategic", { spec: { unschedulable: true } }), {
    code: 200,
    "spec.unschedulable": true,
  });
  asks("is selectable", get(`/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue,metadata.name%3D${namespace}`), {
    code: 200,
    "items.metadata.name": [namespace],
  });
  asks(
    "the status is apart",
    patch(`${node}/status`, "strategic", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
    {
      code: 200,
      "status.conditions.type": ["Ready"],
    },
  );
  asks("it goes", del(node), { code: 200 });
  asks("a node lies in no namespace", get(`/api/v1/namespaces/{ns}/nodes/${namespace}`), { code: 404 });
});

const lease = (holderIdentity: string, metadata: object = {}) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "l", ...metadata },
  spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: "2026-01-01T00:00:00.000000Z" },
});

contract("leases", ({ asks, given }) => {
  given("a lease", post("coordination.k8s.io/v1/leases", lease("a")));
  asks(
    "are not taken over by who comes late",
    put("coordination.k8s.io/v1/leases/l", lease("c", { resourceVersion: "1" })),
    {
      code: 409,
      reason: "Conflict",
    },
  );
});

contract("events", ({ asks, given, namespace }) => {
  const involvedObject = { kind: "Pod", name: "p", namespace };
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "e" },
    involvedObject,
    reason: "Tested",
    message: "m",
    type: "Normal",
  };
  given("an event", post("events", event));
  asks("are selected in the newer group's words", get("events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp"), {
    code: 200,
    "items.metadata.name": ["e"],
  });
});

contract("secrets", ({ asks }) => {
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s" }, stringData: { key: "value" } };
  asks("are kept as base64", post("secrets", secret), {
    code: 201,
    type: "Opaque",
    data: { key: "dmFsdWU=" },
    stringData: undefined,
  });
});

const owner = (more: object) => ({ apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "0-0", ...more });
const owned = (...ownerReferences: object[]) =>
  post("configmaps", { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "owned", ownerReferences } });

contract("owners", ({ asks }) => {
  asks("have a uid", owned(owner({ uid: "" })), {
    code: 422,
    message: 'ConfigMap "owned" is invalid: metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  });
  asks("one controls", owned(owner({ controller: true }), owner({ controller: true, name: "p", uid: "1-1" })), {
    code: 422,
    message:
      /Only one reference can have Controller set to true\. Found "true" in references for ConfigMap\/o and ConfigMap\/p$/,
  });
});
