/** The second namespace: apply, patches, selectors, pages, deletions, leases, events, nodes. */
import { del, get, patch, post } from "../../requests.ts";
import type { Request } from "../../client.ts";
import { type Scene, type Scenes, type World, anew, keep } from "../world.ts";
import { B, UNBOUND, accounts, configMap, namespace, pod, runningPod, status } from "./objects.ts";

const MAPS = `${B}/configmaps`;
const PODS = `${B}/pods`;
const apply = (manager: string, data: object, more = ""): Request =>
  patch(`${MAPS}/ap?fieldManager=${manager}${more}`, "apply", configMap("ap", {}, { data }));

const APPLY: Scenes = {
  "ssa: created, owned": { before: [namespace("fid-b"), accounts("fid-b")] },
  "ssa: one owner gives up, the value stays": { before: [apply("two", { a: "1", c: "2" })] },
  "ssa: conflict with two managers": {
    before: [patch(`${MAPS}/ap?fieldManager=writer`, "merge", { data: { w: "1" } })],
  },
  "ssa: an update takes what it changes": { before: [apply("one", { w: "2" }, "&force=true")] },
  "ssa: YAML 1.1 value": {
    asks: (request) => ({
      ...request,
      body: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ap\ndata:\n  z: yes\n",
    }),
  },
  "ssa: pod status has its own owners": { before: [post(PODS, pod("ap"))] },
};

const jp: Scene = { before: [anew(MAPS, configMap("jp", { annotations: { "x.io/y": "1" } }))] };
const TOLERATIONS = ["one", "two"].map((key) => ({ key, operator: "Exists" }));

const PATCHES: Scenes = {
  "jp: test of a missing key below a missing parent": jp,
  "jp: remove below a missing parent": jp,
  "jp: escaped slash": jp,
  "jp: test, then nothing is done": jp,
  "jp: move from a missing key": jp,
  "jp: copy from a missing key": jp,
  "jp: no op": jp,
  "jp: path without a slash": jp,
  "jp: add without a value": jp,
  "jp: a value of another type": jp,
  "jp: the whole document": jp,
  "jp: another name": jp,
  "jp: an empty body": { asks: (request) => ({ ...request, body: "" }) },
  "merge patch: unknown field, Strict": jp,
  "immutable ConfigMap: labels may change": {
    before: [post(MAPS, configMap("im", { labels: { a: "1" } }, { data: { a: "1" }, immutable: true }))],
  },
  "jp: index out of range": { before: runningPod(B, "jp", { app: "jp" }, { tolerations: TOLERATIONS }) },
  "strategic: delete from a list of strings": {
    before: [post(MAPS, configMap("fin", { finalizers: ["x.io/a", "x.io/b", "x.io/c"] }))],
  },
};

const SELECTORS: Scenes = {
  "pods by spec.nodeName=fid-node,status.phase=Running": {
    before: [
      ...runningPod(B, "q1", { app: "q", tier: "x" }),
      post(PODS, pod("q2", { app: "q", tier: "y" }, UNBOUND)),
      post(PODS, pod("q3", { app: "q" })),
      status(`${PODS}/q3`, { phase: "Succeeded" }),
    ],
  },
};

const page = (name: string) => post(MAPS, configMap(name, { labels: { app: "pg" } }));
const continued: Scene = {
  asks: (request, world) => withQuery(request, "continue", world.answer("page: first, by label", "metadata.continue")),
};
const versioned: Scene = {
  asks: (request, world) => withQuery(request, "resourceVersion", world.answer("limit 0", "metadata.resourceVersion")),
};

function withQuery(request: Request, name: string, value: string): Request {
  const url = new URL(request.path, "https://any");
  url.searchParams.set(name, value);
  return { ...request, path: `${url.pathname}${url.search}` };
}

const PAGES: Scenes = {
  "page: first, by label": { before: ["pg-a", "pg-b", "pg-c", "pg-cc"].map(page) },
  "page: the same token again": continued,
  "page: continue and resourceVersion": continued,
  "page: continue and match": continued,
  "page: token of another collection": {
    before: [keep("pods", get(`${PODS}?limit=1`))],
    asks: (request, world) => withQuery(request, "continue", world.answer("pods", "metadata.continue")),
  },
  "rv: exact": { ...versioned, before: [page("pg-late")] },
  "rv: without match": versioned,
  "rv: with a limit it is exact": versioned,
};

const numbered = (n: number) => post(MAPS, configMap(`d${n}`, { labels: { n: `d${n}` } }));
const slow = (name: string, seconds: number) => post(PODS, pod(name, {}, { terminationGracePeriodSeconds: seconds }));

const DELETIONS: Scenes = {
  "deletecollection: by field": { before: [1, 2, 3, 4, 5, 6, 7, 8, 9].map(numbered) },
  "delete: so it is gone": { before: [del(`${MAPS}/d5?dryRun=All`, { propagationPolicy: "Background" })] },
  "delete: changed meanwhile": {
    before: [keep("d7", get(`${MAPS}/d7`)), patch(`${MAPS}/d7`, "merge", { data: { a: "2" } })],
    asks: withVersionOf("d7"),
  },
  "grace: shortened": { before: [slow("g1", 30), del(`${PODS}/g1`)] },
  "grace: dry run": { before: [slow("g4", 60)] },
  "grace: held by it": {
    before: [post(PODS, pod("g3", {}, {}, { finalizers: ["x.io/a"] })), del(`${PODS}/g3`, { gracePeriodSeconds: 0 })],
  },
  "grace: a finished pod is gone": {
    before: [status(`${PODS}/g4`, { phase: "Succeeded" }), del(`${PODS}/g4`)],
  },
  "grace: 0 by its own spec, gone?": { before: [slow("g5", 0), del(`${PODS}/g5`)] },
};

export function withVersionOf(name: string) {
  return (request: Request, world: World): Request => {
    const preconditions = { resourceVersion: world.answer(name, "metadata.resourceVersion") };
    return { ...request, body: { ...Object(request.body), preconditions } };
  };
}

const EVENTS = `${B}/events`;
const K1 = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "k1" },
  eventTime: "2026-11-20T00:00:00.000000Z",
  reportingController: "fid.io/x",
  reportingInstance: "x-1",
  action: "Evacuate",
  reason: "Evacuating",
  regarding: { kind: "Pod", namespace: "fid-b", name: "p" },
  note: "hi",
  type: "Normal",
};

const OTHERS: Scenes = {
  "lease: PUT without resourceVersion": {
    before: [
      post("/apis/coordination.k8s.io/v1/namespaces/fid-b/leases", {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { name: "l" },
        spec: { holderIdentity: "a", leaseDurationSeconds: 15, renewTime: "2026-11-20T00:00:00.123456Z" },
      }),
    ],
  },
  // The disruption controller's own events first, and their budget.
  "event: create": {
    before: [del("/apis/policy/v1/namespaces/fid-b/poddisruptionbudgets/sh"), del(EVENTS)],
  },
  "event: in events.k8s.io": { before: [patch(`${EVENTS}/e1`, "merge", { message: "bye" })] },
  "events.k8s.io: series": { before: [post("/apis/events.k8s.io/v1/namespaces/fid-b/events", K1)] },
};

export const SECOND: Scenes = { ...APPLY, ...PATCHES, ...SELECTORS, ...PAGES, ...DELETIONS, ...OTHERS };
