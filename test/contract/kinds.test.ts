/** Peculiarities of single kinds: nodes, leases, events, secrets, workloads. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { del, get, patch, post, put } from "./requests.ts";
import { valueAt } from "./value-at.ts";

contract("nodes", ({ asks, given, namespace }) => {
  const node = `/api/v1/nodes/${namespace}`;
  const taints = [{ key: "k", value: "v", effect: "NoSchedule" }];
  given("a node", post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: namespace } }));
  asks("cordon", patch(node, "strategic", { spec: { unschedulable: true } }), {
    code: 200,
    "spec.unschedulable": true,
  });
  asks("is selectable", get(`/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue,metadata.name%3D${namespace}`), {
    code: 200,
    "items.metadata.name": [namespace],
  });
  asks("uncordon", patch(node, "strategic", { spec: { unschedulable: null } }), {
    code: 200,
    "spec.unschedulable": undefined,
  });
  asks("taints are one value", patch(node, "strategic", { spec: { taints } }), { code: 200, "spec.taints": taints });
  asks("others replace them", patch(node, "strategic", { spec: { taints: [{ key: "l", effect: "NoExecute" }] } }), {
    code: 200,
    "spec.taints.key": ["l"],
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

const lease = (holderIdentity: string, resourceVersion?: string) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "l", ...(resourceVersion && { resourceVersion }) },
  spec: { holderIdentity, leaseDurationSeconds: 15, acquireTime: "2026-01-01T00:00:00.000000Z" },
});

contract("leases", ({ asks, given, checks }) => {
  given("a lease", post("coordination.k8s.io/v1/leases", lease("a")));
  checks("is taken over by who has seen it", async (send) => {
    const seen = await send(get("coordination.k8s.io/v1/leases/l"));
    const revision = String(valueAt(seen.body, "metadata.resourceVersion"));
    const { code, body } = await send(put("coordination.k8s.io/v1/leases/l", lease("b", revision)));
    expect({ code, holder: valueAt(body, "spec.holderIdentity") }).toEqual({ code: 200, holder: "b" });
  });
  asks("not by who has not", put("coordination.k8s.io/v1/leases/l", lease("c")), {
    code: 422,
    message:
      'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  });
  asks("nor by who comes late", put("coordination.k8s.io/v1/leases/l", lease("c", "1")), {
    code: 409,
    reason: "Conflict",
  });
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
  asks("in the newer group", get("events.k8s.io/v1/events/e"), {
    code: 200,
    apiVersion: "events.k8s.io/v1",
    "regarding.name": "p",
    note: "m",
    reason: "Tested",
  });
  asks("selected by what it is about", get("events?fieldSelector=involvedObject.name%3Dp,reason%3DTested"), {
    code: 200,
    "items.metadata.name": ["e"],
  });
  asks("in the newer group's words", get("events.k8s.io/v1/events?fieldSelector=regarding.name%3Dp"), {
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
