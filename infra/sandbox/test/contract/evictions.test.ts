/** The eviction subresource: the effect of budgets, and of a granted eviction on the pod. */
import { expect } from "vitest";
import { contract } from "./contract.ts";
import { get, patch, pod, post } from "./requests.ts";

function eviction(name: string, more: object = {}): Record<string, unknown> {
  return { apiVersion: "policy/v1", kind: "Eviction", metadata: { name }, ...more };
}

function budget(name: string, app: string): Record<string, unknown> {
  const spec = { minAvailable: 1, selector: { matchLabels: { app } } };
  return { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name }, spec };
}

const running = (name: string, app: string) =>
  pod(name, { metadata: { labels: { app } }, spec: { nodeName: "somewhere" } });

const isRunning = {
  status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] },
};

/** As the disruption controller would report. */
function counted(healthy: number, allowed: number, observedGeneration = 1): Record<string, unknown> {
  const counts = { currentHealthy: healthy, desiredHealthy: 1, expectedPods: healthy, disruptionsAllowed: allowed };
  return { status: { ...counts, observedGeneration } };
}

const TOO_MANY = { code: 429, reason: "TooManyRequests" } as const;
const WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget.";

contract("eviction of an unprotected pod", ({ asks, given }) => {
  given("a running pod", post("pods", running("p", "free")));
  given("that is ready", patch("pods/p/status", "merge", isRunning));
  asks("a dry run by options", post("pods/p/eviction", eviction("p", { deleteOptions: { dryRun: ["All"] } })), {
    code: 201,
  });
  asks("neither did anything", get("pods/p"), { code: 200, "metadata.deletionTimestamp": undefined });
  asks("granted", post("pods/p/eviction", eviction("p")), { code: 201, kind: "Status", status: "Success" });
  asks("the pod terminates and says why", get("pods/p"), {
    code: 200,
    "metadata.deletionGracePeriodSeconds": 30,
    "status.conditions.type": ["Ready", "DisruptionTarget"],
    "status.conditions.1.status": "True",
    "status.conditions.1.reason": "EvictionByEvictionAPI",
  });
  asks("once more", post("pods/p/eviction", eviction("p")), { code: 201 });
  asks("what is missing", post("pods/none/eviction", eviction("none")), {
    code: 404,
    message: 'pods "none" not found',
  });
});

contract("eviction of a protected pod", ({ asks, given }) => {
  given("a running pod", post("pods", running("p", "kept")));
  given("that is ready", patch("pods/p/status", "merge", isRunning));
  given("a budget", post("policy/v1/poddisruptionbudgets", budget("b", "kept")));
  asks("that the controller has not seen yet", post("pods/p/eviction", eviction("p")), {
    ...TOO_MANY,
    message: WOULD_VIOLATE,
    "details.causes": [
      { reason: "DisruptionBudget", message: "The disruption budget b is still being processed by the server." },
    ],
    "details.retryAfterSeconds": 10,
  });
  given("it allows nothing", patch("policy/v1/poddisruptionbudgets/b/status", "merge", counted(1, 0)));
  const exhausted = {
    ...TOO_MANY,
    message: WOULD_VIOLATE,
    "details.causes": [
      { reason: "DisruptionBudget", message: "The disruption budget b needs 1 healthy pods and has 1 currently" },
    ],
  };
  asks("refused", post("pods/p/eviction", eviction("p")), exhausted);
  asks(
    "the older version of the body",
    post("pods/p/eviction", { ...eviction("p"), apiVersion: "policy/v1beta1" }),
    exhausted,
  );
  asks("a dry run is refused, too", post("pods/p/eviction?dryRun=All", eviction("p")), exhausted);
  given("it allows one", patch("policy/v1/poddisruptionbudgets/b/status", "merge", counted(2, 1)));
  asks("granted", post("pods/p/eviction", eviction("p")), { code: 201 });
  asks("it is spent, and the budget names the pod", get("policy/v1/poddisruptionbudgets/b"), {
    code: 200,
    "status.disruptionsAllowed": 0,
    "status.disruptedPods.p": expect.any(String),
  });
});

contract("two budgets for one pod", ({ asks, given }) => {
  given("a running pod", post("pods", running("p", "twice")));
  given("that is ready", patch("pods/p/status", "merge", isRunning));
  given("a budget", post("policy/v1/poddisruptionbudgets", budget("b1", "twice")));
  given("and another", post("policy/v1/poddisruptionbudgets", budget("b2", "twice")));
  asks("is an error", post("pods/p/eviction", eviction("p")), {
    code: 500,
    reason: undefined,
    message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
  });
});

contract("a budget's generation", ({ asks, given }) => {
  given("a budget", post("policy/v1/poddisruptionbudgets", budget("b", "any")));
  given("its status", patch("policy/v1/poddisruptionbudgets/b/status", "merge", counted(1, 0)));
  asks(
    "a change of the spec counts",
    patch("policy/v1/poddisruptionbudgets/b", "merge", { spec: { minAvailable: 2 } }),
    {
      code: 200,
      "metadata.generation": 2,
      "status.observedGeneration": 1,
    },
  );
  asks("a change of the status does not", patch("policy/v1/poddisruptionbudgets/b/status", "merge", counted(1, 0, 2)), {
    code: 200,
    "metadata.generation": 2,
    "status.observedGeneration": 2,
  });
  asks("both limits at once", patch("policy/v1/poddisruptionbudgets/b", "merge", { spec: { maxUnavailable: 1 } }), {
    code: 422,
    reason: "Invalid",
    message: /minAvailable and maxUnavailable cannot be both set$/,
  });
});

contract("binding", ({ asks, given }) => {
  const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: "p" }, target: { kind: "Node", name: "n" } };
  given("a pod", post("pods", pod("p")));
  asks("to a node", post("pods/p/binding", binding), { code: 201 });
  asks("it is there", get("pods/p"), { code: 200, "spec.nodeName": "n" });
  asks("but only once", post("pods/p/binding", binding), { code: 409, reason: "Conflict" });
});
