/** The first namespace: objects, patches, lists, deletions, evictions, VMIs, a lease, a service account. */
import { del, get, patch, post } from "../../requests.ts";
import { type Scenes, keep } from "../world.ts";
import { account } from "./accounts.ts";
import { vmi } from "./custom.ts";
import {
  FID,
  READY,
  UNBOUND,
  accounts,
  budget,
  configMap,
  counted,
  eviction,
  node,
  over,
  pod,
  runningPod,
  status,
} from "./objects.ts";

const VMIS = "/apis/kubevirt.io/v1/namespaces/fid/virtualmachineinstances";
const BUDGET = "/apis/policy/v1/namespaces/fid/poddisruptionbudgets/b1";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/fid/leases";

export const FIRST: Scenes = {
  "create namespace": {
    before: [node("fid-node"), node("fid-node2", { taints: [{ key: "a", effect: "NoSchedule" }] })],
  },
  "create same name": { before: [accounts("fid"), post(`${FID}/pods`, pod("p1", { app: "a" }))] },
  "create, not JSON": { asks: (request) => ({ ...request, body: "{nope" }) },
  "status after ready": { before: [status(`${FID}/pods/p1`, READY)] },

  "json patch: test null of a missing key": {
    before: [patch(`${FID}/pods/p1`, "merge", { metadata: { labels: { x: "y" } } })],
  },
  "put stale": {
    before: [
      keep("p1", get(`${FID}/pods/p1`)),
      patch(`${FID}/pods/p1`, "merge", { metadata: { labels: { later: "1" } } }),
    ],
    asks: (request, world) => {
      const { metadata, ...rest } = Object(world.answers.get("p1")?.body);
      return { ...request, body: { ...rest, metadata: { ...metadata, labels: { put: "1" } } } };
    },
  },
  "labelSelector app==s": {
    before: [
      post(`${FID}/configmaps`, configMap("s1", { labels: { app: "s", tier: "x" } })),
      post(`${FID}/configmaps`, configMap("s2", { labels: { app: "s", tier: "y" } })),
      post(`${FID}/configmaps`, configMap("s3", { labels: { app: "s" } })),
    ],
  },

  "a terminating pod stays": { before: [del(`${FID}/pods/p1`)] },
  "delete an unbound pod": { before: [post(`${FID}/pods`, pod("unbound", {}, UNBOUND))] },
  "delete with finalizer": { before: [post(`${FID}/configmaps`, configMap("f", { finalizers: ["x.io/hold"] }))] },
  "finalizer gone, object gone": {
    before: [patch(`${FID}/configmaps/f`, "merge", { metadata: { finalizers: null } })],
  },

  "evict, name differs": {
    before: [
      ...runningPod(FID, "e1", { app: "e" }),
      ...runningPod(FID, "e2", { app: "e" }),
      ...budget("fid", "b1", { minAvailable: 1, ...over({ app: "e" }) }, [2, 1, 1, 2]),
    ],
  },
  "evict, budget exhausted": {
    before: [patch(BUDGET, "merge", { spec: { minAvailable: 2 } }), counted(BUDGET, [2, 2, 0, 2])],
  },
  "evicted pod terminates, says why": {
    before: [patch(BUDGET, "merge", { spec: { minAvailable: 1 } }), counted(BUDGET, [2, 1, 1, 2]), eviction(FID, "e1")],
  },
  "a pending pod ignores the budget": {
    before: [post(`${FID}/pods`, pod("pending", { app: "e" }, UNBOUND))],
  },

  "VMI: status by a plain merge patch": {
    before: [post(VMIS, vmi("vm"))],
  },
  "VMIM: status subresource": {
    asks: (request, world) => ({
      ...request,
      path: request.path.replace("m-nhrr5", world.answer("VMIM: status in a create is dropped", "metadata.name")),
    }),
  },
  "take lease": {
    before: [
      post(LEASES, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: { holderIdentity: "a", leaseDurationSeconds: 15, acquireTime: "2026-11-20T00:00:00.000000Z" },
      }),
      keep("l", get(`${LEASES}/l`)),
    ],
    asks: (request, world) => {
      const { metadata } = Object(world.answers.get("l")?.body);
      return { ...request, body: { ...Object(request.body), metadata } };
    },
  },

  "sa: allowed get": {
    before: account("fid", "sa", [
      { apiGroups: [""], resources: ["pods"], verbs: ["get"] },
      { apiGroups: ["kubevirt.io"], resources: ["virtualmachineinstances"], verbs: ["patch"] },
      { apiGroups: [""], resources: ["configmaps"], resourceNames: ["other"], verbs: ["get"] },
    ]),
  },
  "bad token": { asks: (request) => ({ ...request, token: "nonsense" }) },
};
