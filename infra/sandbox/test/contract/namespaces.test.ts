/** The end of a namespace: no new objects in it, and it goes with its finalizer. Also PriorityClasses. */
import { contract } from "./contract.ts";
import { configMap, del, get, patch, pod, post, put } from "./requests.ts";

const doomed = (namespace: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });

contract("a namespace that ends", ({ asks, given, namespace }) => {
  const name = `${namespace}-doomed`;
  const place = `/api/v1/namespaces/${name}`;
  given("it", post("/api/v1/namespaces", doomed(name)));
  given(
    "something that holds it",
    post(`${place}/configmaps`, configMap("held", { metadata: { finalizers: ["example.com/hold"] } })),
  );
  asks("deletion begins", del(place), { code: 200, kind: "Namespace", "status.phase": "Terminating" });
  asks("it is still there", get(place), {
    code: 200,
    "status.phase": "Terminating",
    "spec.finalizers": ["kubernetes"],
  });
  asks("nothing new in it", post(`${place}/configmaps`, configMap("late")), {
    code: 403,
    reason: "Forbidden",
    message: `configmaps "late" is forbidden: unable to create new content in namespace ${name} because it is being terminated`,
    "details.causes.reason": ["NamespaceTerminating"],
  });
  asks("what is there can change", patch(`${place}/configmaps/held`, "merge", { metadata: { finalizers: null } }), {
    code: 200,
  });
  given("emptied", del(`${place}/configmaps`));
  asks("its finalizer goes by a subresource of its own", put(`${place}/finalize`, { ...doomed(name), spec: {} }), {
    code: 200,
  });
  asks("and it with it", get(place), { code: 404, message: `namespaces "${name}" not found` });
  asks("some cannot end", del("/api/v1/namespaces/kube-system"), {
    code: 403,
    message: 'namespaces "kube-system" is forbidden: this namespace may not be deleted',
  });
});

contract("priority", ({ asks }) => {
  asks("none", post("pods", pod("plain")), {
    code: 201,
    "spec.priority": 0,
    "spec.preemptionPolicy": "PreemptLowerPriority",
  });
  asks("of a class", post("pods", pod("critical", { spec: { priorityClassName: "system-node-critical" } })), {
    code: 201,
    "spec.priority": 2_000_001_000,
  });
  asks("of a class that does not exist", post("pods", pod("unknown", { spec: { priorityClassName: "none" } })), {
    code: 403,
    reason: "Forbidden",
    message: 'pods "unknown" is forbidden: no PriorityClass with name none was found',
  });
});
