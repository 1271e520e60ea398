/**
 * The floor of the admission benchmark: a Worker that asks the API server what KubeVirt's own webhook asks it about an eviction, one
 * request after another, and decides nothing. Upstream: pkg/virt-api/webhooks/validating-webhook/admitters/pod-eviction-admitter.go.
 */
interface Subject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

type Api = (method: "GET" | "PATCH", path: string, body?: unknown) => Promise<unknown>;

export default {
  async fetch(request: Request, { CLUSTERS }: { readonly CLUSTERS: string }): Promise<Response> {
    const api = apiOf((JSON.parse(CLUSTERS) as { bench: Parameters<typeof apiOf>[0] }).bench);
    const { uid, ...pod } = ((await request.json()) as { request: Subject }).request;
    const calls = new URL(request.url).searchParams.get("calls");
    await review(calls, pod, api);
    const message = calls === "first" ? "Eviction triggered evacuation" : "Evacuation in progress";
    const response = { uid, allowed: false, status: { message } };
    return Response.json({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response });
  },
};

function apiOf({ server, token }: { readonly server: string; readonly token: string }): Api {
  return async (method, path, body) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json-patch+json" };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await fetch(`${server}${path}`, init);
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status}`);
    return await answer.json();
  };
}

/** Whether it is the first one is told by the caller: finding out would be deciding. */
async function review(calls: string | null, { namespace, name }: Omit<Subject, "uid">, api: Api): Promise<void> {
  await api("GET", `/api/v1/namespaces/${namespace}/pods/${name}`);
  const vmiName = /^virt-launcher-(.+)-[a-z0-9]{5}$/.exec(name)?.[1] ?? "";
  const path = `/apis/kubevirt.io/v1/namespaces/${namespace}/virtualmachineinstances/${vmiName}`;
  const vmi = (await api("GET", path)) as { readonly status: { readonly nodeName: string } };
  const mark = { op: "add", path: "/status/evacuationNodeName", value: vmi.status.nodeName };
  if (calls === "first") await api("PATCH", path, [mark]);
}
