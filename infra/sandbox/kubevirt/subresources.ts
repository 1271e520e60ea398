/**
 * virt-api's subresources: `start`, `stop` and `restart` of a VirtualMachine, and `evacuate/cancel` of a VirtualMachine
 * or VMI. They are in the API group subresources.kubevirt.io. Upstream: pkg/virt-api/rest/authorizer.go, lifecycle.go,
 * evacuate_cancel.go.
 */
import type { KubeClient } from "../actors/client.ts";
import { isConflict, messageOf } from "../actors/status-error.ts";
import { cancelOfVm, cancelOfVmi } from "./evacuate-cancel.ts";
import * as kubevirt from "./resources.ts";
import {
  conflict,
  internal,
  type Key,
  notFound,
  optionsIn,
  refusal,
  type SubresourceAnswer,
} from "./subresource-answers.ts";

export const SUBRESOURCES = "subresources.kubevirt.io/v1";

const PATH =
  /^\/apis\/subresources\.kubevirt\.io\/v1\/namespaces\/([^/]+)\/(virtualmachines|virtualmachineinstances)\/([^/]+)\/(.+)$/;

const UNDERWAY = "unable to complete request: stop/start already underway";

export interface SubresourceRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly accept: string;
}

type Answer = (client: KubeClient, key: Key, body: string) => Promise<SubresourceAnswer>;

const ANSWERS: Readonly<Record<string, Answer | undefined>> = {
  "virtualmachines/start": (client, key) => change(client, key, startOf),
  "virtualmachines/stop": (client, key) => change(client, key, stopOf),
  "virtualmachines/restart": (client, key, body) => {
    const { gracePeriodSeconds: grace = 0 } = optionsIn(body);
    if (Number(grace) === 0) return change(client, key, restartOf);
    const why =
      Number(grace) > 0
        ? "For force restart, only gracePeriod=0 is supported for now"
        : "gracePeriod has to be greater or equal to 0";
    return Promise.resolve(refusal(400, "BadRequest", why));
  },
  "virtualmachines/evacuate/cancel": cancelOfVm,
  "virtualmachineinstances/evacuate/cancel": cancelOfVmi,
};

/** Answers a request for a subresource. Returns undefined for other paths. */
export async function answerSubresource(
  client: KubeClient,
  { method, path, body, user, groups, accept }: SubresourceRequest,
): Promise<SubresourceAnswer | undefined> {
  const [, namespace, resource, name, subresource] = PATH.exec(path) ?? [];
  const answer = ANSWERS[`${resource}/${subresource}`];
  if (method !== "PUT" || answer === undefined || namespace === undefined || name === undefined) return undefined;
  if (!takesAnything(accept)) return { code: 406, text: "406: Not Acceptable\n\nAvailable representations: " };
  const key = { namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
  const attributes = { ...key, verb: "update", group: GROUP, version: "v1", resource, subresource };
  const reason = await refusalReason(client, { user, groups, resourceAttributes: attributes });
  return reason === undefined ? await answer(client, key, body) : { code: 401, text: reason };
}

/**
 * Returns true if the Accept header contains the wildcard for all types. KubeVirt's routes declare no content type, so
 * only the wildcard matches. Upstream: go-restful's Route.matchesAccept.
 */
function takesAnything(accept: string): boolean {
  return accept.split(",").some((type) => type.split(";")[0]?.trim() === "*/*");
}

const GROUP = "subresources.kubevirt.io";

interface Reviewed {
  readonly status: { readonly allowed: boolean; readonly reason?: string };
}

/**
 * Returns why the caller may not use the subresource. For `evacuate/cancel`, the API server has checked only the
 * permission for `evacuate`.
 */
async function refusalReason(client: KubeClient, spec: object): Promise<string | undefined> {
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const body = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec };
  const { status } = (await client.raw({ method: "POST", path, body })).body as Reviewed;
  return status.allowed ? undefined : (status.reason ?? "");
}

async function change(
  client: KubeClient,
  key: Key,
  decide: (vm: Vm, vmi: Vmi | undefined) => Change,
): Promise<SubresourceAnswer> {
  const vm = await client.get(kubevirt.virtualMachines, key);
  if (vm === undefined) return notFound("virtualmachine", key);
  const vmi = await client.get(kubevirt.virtualMachineInstances, key);
  const patch = decide(vm, vmi);
  if (typeof patch === "string") return patch === UNDERWAY ? internal(patch) : conflict(key, patch);
  return patch === undefined ? { code: 202 } : await apply(client, key, patch);
}

interface Patch {
  readonly subresource?: "status";
  readonly body: readonly object[];
}

type Vm = kubevirt.VirtualMachine;
type Vmi = kubevirt.VirtualMachineInstance;
/** A patch, the text of a conflict, or undefined if nothing must change. */
type Change = Patch | string | undefined;

function startOf(vm: Vm, vmi: Vmi | undefined): Change {
  const { phase = "" } = vmi?.status ?? {};
  if (phase !== "" && !kubevirt.isFinal(vmi?.status)) return "VM is already running";
  const strategy = kubevirt.runStrategyOf(vm);
  switch (strategy) {
    case "Halted":
      return running(vm, true);
    case "Manual":
      return requested(vm, startRequests(vmi));
    case "RerunOnFailure":
      if (phase === "Failed") return "RerunOnFailure does not support starting VM from failed state";
      return requested(vm, startRequests(vmi));
    case "Always":
    case "Once":
      return `${strategy} does not support manual start requests`;
    default:
      return undefined;
  }
}

function startRequests(vmi: Vmi | undefined): readonly kubevirt.StateChangeRequest[] {
  return [...(vmi === undefined ? [] : [{ action: "Stop", uid: vmi.metadata.uid } as const]), { action: "Start" }];
}

function restartOf(vm: Vm, vmi: Vmi | undefined): Change {
  const strategy = kubevirt.runStrategyOf(vm);
  // Upstream has this misspelling.
  if (strategy === "Halted" || strategy === "Once")
    return `RunStategy ${strategy} does not support manual restart requests`;
  if (vmi === undefined) return "VM is not running: Halted";
  return requested(vm, [{ action: "Stop", uid: vmi.metadata.uid }, { action: "Start" }]);
}

function stopOf(vm: Vm, vmi: Vmi | undefined): Change {
  const strategy = kubevirt.runStrategyOf(vm);
  switch (strategy) {
    case "Halted":
    case "Manual":
    case "RerunOnFailure":
      if (vmi === undefined || kubevirt.isFinal(vmi.status)) return "VM is not running";
      if (strategy === "Halted") return "Halted only supports manual stop requests with a shorter graceperiod";
      return requested(vm, [{ action: "Stop", uid: vmi.metadata.uid }]);
    case "Always":
    case "Once":
      return running(vm, false);
    default:
      return undefined;
  }
}

function running({ spec }: Vm, on: boolean): Patch {
  const [path, before, after] =
    spec.runStrategy === undefined
      ? (["/spec/running", spec.running, on] as const)
      : (["/spec/runStrategy", spec.runStrategy, on ? "Always" : "Halted"] as const);
  return {
    body: [
      { op: "test", path, value: before },
      { op: "replace", path, value: after },
    ],
  };
}

function requested({ status }: Vm, changes: readonly kubevirt.StateChangeRequest[]): Patch | string {
  const path = "/status/stateChangeRequests";
  const before = status?.stateChangeRequests ?? [];
  if (status === undefined) {
    return { subresource: "status", body: [{ op: "add", path: "/status", value: { stateChangeRequests: changes } }] };
  }
  if (before.length > 0 && (changes.length > 1 || changes[0]?.action !== "Stop")) {
    return UNDERWAY;
  }
  return { subresource: "status", body: [{ op: "add", path, value: changes }] };
}

async function apply(client: KubeClient, key: Key, { body, ...options }: Patch): Promise<SubresourceAnswer> {
  try {
    await client.patch(kubevirt.virtualMachines, key, { type: "json", body }, options);
    return { code: 202 };
  } catch (error) {
    if (isConflict(error)) return conflict(key, messageOf(error));
    return internal(messageOf(error));
  }
}
