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
});

contract("finalizers", ({ asks, given }) => {
  given(
    "an object with a finalizer",
    post("configmaps", configMap("c", { metadata: { finalizers: ["example.com/hold"] } })),
  );
  asks("deletion marks it", del("configmaps/c"), {
    code: 200,
    kind: "ConfigMap",
    "metadata.deletionGracePeriodSeconds": 0,
  });
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
  asks("a finalizer without a domain", post("configmaps", configMap("bare", { metadata: { finalizers: ["hold"] } })), {
    code: 422,
    reason: "Invalid",
    message:
      'ConfigMap "bare" is invalid: metadata.finalizers[0]: Invalid value: "hold": name is neither a standard finalizer name ' +
      "nor is it fully qualified",
  });
});

contract("preconditions", ({ asks, given }) => {
  given("an object", post("configmaps", configMap("c")));
  asks("another uid", del("configmaps/c", { preconditions: { uid: "0-0-0" } }), {
    code: 409,
    reason: "Conflict",
    message:
      /^Operation cannot be fulfilled on ConfigMap "c": the UID in the precondition \(0-0-0\) does not match the UID in record \([-0-9a-f]+\)\. The object might have been deleted and then recreated$/,
  });
});
