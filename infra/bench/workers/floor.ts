/**
 * The floor of the admission benchmark: a Worker that makes the API calls of an eviction's review and decides nothing.
 * Owns: the same requests in the same order, before and after the answer. Does not own: anything else, and that is the
 * point: no authentication, no checks of what arrives, no log.
 */

import { hash8 } from "../../../shared/policy/hash.ts";
import { derivedName } from "../../../shared/policy/slots.ts";

interface Env {
  readonly CLUSTERS: string;
}

interface Platform {
  waitUntil(promise: Promise<unknown>): void;
}

interface Vmi {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly status: { readonly nodeName: string };
}

interface Subject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

type Api = (method: "GET" | "POST" | "PATCH", path: string, body?: unknown) => Promise<unknown>;

const VMIS = "virtualmachineinstances";

export default {
  async fetch(request: Request, { CLUSTERS }: Env, platform: Platform): Promise<Response> {
    const api = apiOf((JSON.parse(CLUSTERS) as { bench: Parameters<typeof apiOf>[0] }).bench);
    const { uid, ...pod } = ((await request.json()) as { request: Subject }).request;
    const vmi = await review(new URL(request.url).searchParams.get("calls"), pod, { api, platform });
    const response = { uid, allowed: vmi === undefined };
    return Response.json({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
  },
};

function apiOf({ server, token }: { readonly server: string; readonly token: string }): Api {
  return async (method, path, body) => {
    const patches = method === "PATCH";
    const headers = {
      accept: "application/json",
      authorization: `Bearer ${token}`,
      "user-agent": "floor",
      ...(body !== undefined && { "content-type": patches ? "application/json-patch+json" : "application/json" }),
      ...(patches &&
        path.includes(VMIS) && { "impersonate-user": "system:serviceaccount:kubevirt:kubevirt-apiserver" }),
    };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return await (await fetch(`${server}${path}`, init)).json();
  };
}

interface Deps {
  readonly api: Api;
  readonly platform: Platform;
}

/** Which of them is told by the caller: finding out would be deciding. */
async function review(calls: string | null, pod: Omit<Subject, "uid">, deps: Deps): Promise<Vmi | undefined> {
  const { api, platform } = deps;
  const { namespace, name } = pod;
  const readPod = api("GET", `/api/v1/namespaces/${namespace}/pods/${name}`);
  if (calls === "ordinary") return void (await readPod);
  const vmiName = /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(name)?.[1] ?? "";
  const path = vmiPath({ namespace, name: vmiName });
  const [vmi] = await Promise.all([api("GET", path) as Promise<Vmi>, readPod]);
  if (calls === "first") {
    await api("PATCH", budgetPath(vmi), GROW);
    await api("PATCH", path, markOf(vmi));
    platform.waitUntil(api("POST", `/api/v1/namespaces/${namespace}/events`, eventOf(vmi)));
  } else await listBudgets(api, namespace);
  platform.waitUntil(follow(api, vmi));
  return vmi;
}

function vmiPath({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `/apis/kubevirt.io/v1/namespaces/${namespace}/${VMIS}/${name}`;
}

function listBudgets(api: Api, namespace: string): Promise<unknown> {
  return api("GET", `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets?limit=250`);
}

function budgetPath({ metadata: { namespace, name, uid } }: Vmi): string {
  const budget = derivedName(name, hash8(uid));
  return `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${budget}`;
}

const GROW = [
  { op: "test", path: "/metadata/labels/app.kubernetes.io~1managed-by", value: "lifeboat" },
  { op: "add", path: "/metadata/labels/lifeboat.dev~1grown-for", value: "00000000.0" },
  { op: "add", path: "/spec/minAvailable", value: 2 },
];

const KEY = "lifeboat.dev~1evacuation";

function markOf({ metadata: { uid }, status: { nodeName } }: Vmi): unknown {
  const record = { id: "00000000", cause: "ApiEviction", requestedBy: "admin", node: nodeName, attempts: 0 };
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path: "/status/nodeName", value: nodeName },
    { op: "test", path: "/status/evacuationNodeName", value: null },
    { op: "test", path: `/metadata/annotations/${KEY}`, value: null },
    { op: "add", path: `/metadata/annotations/${KEY}`, value: JSON.stringify(record) },
    { op: "add", path: `/metadata/labels/${KEY}`, value: "normal" },
    { op: "add", path: "/status/evacuationNodeName", value: nodeName },
  ];
}

function eventOf({ metadata }: Vmi): unknown {
  const about = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", ...metadata };
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace: metadata.namespace, name: `${metadata.name}.${crypto.randomUUID()}` },
    involvedObject: about,
    type: "Normal",
    reason: "EvacuationTriggered",
    message: "the floor",
    source: { component: "floor" },
  };
}

/** VMIs whose evacuation somebody has still to look after; one loop does so for all of them. */
const asked = new Map<string, Vmi>();
let following = false;
const BETWEEN_PASSES_MS = 100;

/** After the answer: what a pass over these VMIs reads. */
async function follow(api: Api, vmi: Vmi): Promise<void> {
  asked.set(vmi.metadata.uid, vmi);
  if (following) return;
  following = true;
  for (let vmis = [...asked.values()]; vmis.length > 0; vmis = [...asked.values()]) {
    asked.clear();
    const registers = ["lifeboat-slots", "lifeboat-counters"];
    await Promise.all(registers.map((name) => api("GET", `/api/v1/namespaces/lifeboat-system/configmaps/${name}`)));
    const label = "labelSelector=lifeboat.dev%2Fevacuation";
    const listed = api("GET", `/apis/kubevirt.io/v1/${VMIS}?limit=250&${label}`) as Promise<{ items: readonly Vmi[] }>;
    const [marked] = await Promise.all([listed, ...vmis.map(({ metadata }) => api("GET", vmiPath(metadata)))]);
    const namespaces = new Set([...marked.items, ...vmis].map(({ metadata }) => metadata.namespace));
    await Promise.all([...namespaces].map((namespace) => listBudgets(api, namespace)));
    await api("GET", "/apis/kubevirt.io/v1/virtualmachineinstancemigrations?limit=250");
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_PASSES_MS));
  }
  following = false;
}
