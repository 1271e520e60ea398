/** Deleting: grace, finalizers, propagation, preconditions, collections. */
import { contract } from "./contract.ts";
import { configMap, del, get, patch, pod, post } from "./requests.ts";

contract("a pod that runs somewhere", ({ asks, given }) => {
  given("it", post("pods", pod("p", { spec: { nodeName: "somewhere" } })));
  asks("is told to terminate", del("pods/p"), { code: 200, kind: "Pod", "metadata.deletionGracePeriodSeconds": 30 });
  asks("and stays until its kubelet says so", get("pods/p"), {
    code: 200,
    "metadata.deletionGracePeriodSeconds": 30,
    "metadata.generation": 2,
  });
  asks("a longer grace changes nothing", del("pods/p", { gracePeriodSeconds: 60 }), {
    code: 200,
    "metadata.deletionGracePeriodSeconds": 30,
  });
  asks("a shorter one does", del("pods/p", { gracePeriodSeconds: 5 }), {
    code: 200,
    "metadata.deletionGracePeriodSeconds": 5,
  });
  asks("without grace it goes", del("pods/p", { gracePeriodSeconds: 0 }), { code: 200 });
  asks("and is gone", get("pods/p"), { code: 404 });
  given("one that runs nowhere", post("pods", pod("unbound")));
  asks("goes at once", del("pods/unbound"), { code: 200 });
  asks("as well", get("pods/unbound"), { code: 404 });
});

contract("finalizers", ({ asks, given }) => {
  given(
    "an object that somebody holds",
    post("configmaps", configMap("c", { metadata: { finalizers: ["example.com/hold"] } })),
  );
  asks("deletion marks it", del("configmaps/c"), {
    code: 200,
    kind: "ConfigMap",
    "metadata.deletionGracePeriodSeconds": 0,
  });
  asks("it stays", get("configmaps/c"), { code: 200, "metadata.finalizers": ["example.com/hold"] });
  asks(
    "no finalizer can be added any more",
    patch("configmaps/c", "merge", { metadata: { finalizers: ["example.com/hold", "example.com/more"] } }),
    {
      code: 422,
      reason: "Invalid",
      message:
        'ConfigMap "c" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being ' +
        'deleted, found new finalizers []string{"example.com/more"}',
    },
  );
  asks("it goes with the last one", patch("configmaps/c", "merge", { metadata: { finalizers: null } }), { code: 200 });
  asks("and is gone", get("configmaps/c"), { code: 404, message: 'configmaps "c" not found' });

  given("an object with dependents", post("configmaps", configMap("owner")));
  asks("in the foreground it waits for them", del("configmaps/owner", { propagationPolicy: "Foreground" }), {
    code: 200,
    "metadata.finalizers": ["foregroundDeletion"],
  });
  given("another", post("configmaps", configMap("orphaner")));
  asks("or until they are orphaned", del("configmaps/orphaner", { propagationPolicy: "Orphan" }), {
    code: 200,
    "metadata.finalizers": ["orphan"],
  });
  asks("a finalizer nobody can own", post("configmaps", configMap("bare", { metadata: { finalizers: ["hold"] } })), {
    code: 422,
    reason: "Invalid",
    message:
      'ConfigMap "bare" is invalid: metadata.finalizers[0]: Invalid value: "hold": name is neither a standard finalizer name ' +
      "nor is it fully qualified",
  });
});

contract("preconditions", ({ asks, given }) => {
  given("an object", post("configmaps", configMap("c")));
  asks("another resourceVersion", del("configmaps/c", { preconditions: { resourceVersion: "1" } }), {
    code: 409,
    reason: "Conflict",
    message:
      /^Operation cannot be fulfilled on ConfigMap "c": the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)\. The object might have been modified$/,
    "details.kind": "ConfigMap",
  });
  asks("another uid", del("configmaps/c", { preconditions: { uid: "0-0-0" } }), {
    code: 409,
    reason: "Conflict",
    message:
      /^Operation cannot be fulfilled on ConfigMap "c": the UID in the precondition \(0-0-0\) does not match the UID in record \([-0-9a-f]+\)\. The object might have been deleted and then recreated$/,
  });
  asks("a dry run", del("configmaps/c?dryRun=All"), { code: 200, "details.name": "c", "details.kind": "configmaps" });
  asks("which left it", get("configmaps/c"), { code: 200 });
  asks("what is missing", del("configmaps/none"), { code: 404, message: 'configmaps "none" not found' });
});

contract("a collection", ({ asks, given }) => {
  for (const [name, app] of [
    ["a", "x"],
    ["b", "x"],
    ["c", "y"],
  ] as const) {
    given(name, post("configmaps", configMap(name, { metadata: { labels: { app } } })));
  }
  asks("those that match go", del("configmaps?labelSelector=app=x"), { code: 200 });
  asks("the others stay", get("configmaps?labelSelector=app"), { code: 200, "items.metadata.name": ["c"] });
});
