/** Creates minimal valid AdmissionReviews of evictions and deletions, changed by a test. */
import { POD } from "./cluster/one-vm.ts";

type Json = Readonly<Record<string, unknown>>;

export const UID = "00000000-0000-0000-0000-000000000001";

export interface Tweaks {
  /** Changed fields of the review, of its request, and of the Eviction in the request. */
  readonly review?: Json;
  readonly request?: Json;
  readonly eviction?: Json;
}

export function evictionReview({ review, request, eviction }: Tweaks = {}): Json {
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: UID,
      kind: { group: "policy", version: "v1", kind: "Eviction" },
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "eviction",
      operation: "CREATE",
      ...POD,
      userInfo: { username: "admin" },
      object: { apiVersion: "policy/v1", kind: "Eviction", metadata: POD, ...eviction },
      oldObject: null,
      dryRun: false,
      ...request,
    },
    ...review,
  };
}

export function evictionOf({ namespace, name }: { readonly namespace: string; readonly name: string }): Json {
  return evictionReview({ request: { namespace, name }, eviction: { metadata: { namespace, name } } });
}

/**
 * Returns the AdmissionReview of a pod's deletion by the scheduler. The webhook in
 * `infra/kubernetes/optional/guard/guard.yaml` gets such reviews.
 */
export function deletionOf(oldObject: unknown, more: Json = {}): Json {
  const request = {
    uid: UID,
    operation: "DELETE",
    resource: { group: "", version: "v1", resource: "pods" },
    userInfo: { username: "system:kube-scheduler" },
    oldObject,
    ...more,
  };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request };
}

/** Returns an AdmissionReview that refuses the request with 429, as the API server reads it. */
export function refusal(message: unknown, more: Json = {}): Json {
  const response = { uid: UID, allowed: false, status: { code: 429, reason: "TooManyRequests", message }, ...more };
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
}

export function allowance(more: Json = {}): Json {
  return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: UID, allowed: true, ...more } };
}
