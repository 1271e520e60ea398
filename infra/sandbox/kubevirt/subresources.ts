/**
 * `start` and `stop` of a VirtualMachine, which virt-api serves in a group of its own.
 * Owns: what each does for each run strategy. Does not own: making it so (virt-controller/vm.ts).
 * Upstream: pkg/virt-api/rest/lifecycle.go.
 */
import type { KubeClient } from "../actors/client.ts";
import { isConflict, messageOf } from "../actors/status-error.ts";
import * as kubevirt from "./resources.ts";

export const SUBRESOURCES = "subresources.kubevirt.io/v1";

const PATH = /^\/apis\/subresources\.kubevirt\.io\/v1\/namespaces\/([^/]+)\/virtualmachines\/([^/]+)\/(start|stop)$/;

const UNDERWAY = "unable to complete request: stop/start already underway";

interface Key {
  readonly namespace: string;
  readonly name: string;
}

/** 202 has no body. */
export interface SubresourceAnswer {
  readonly code: number;
  readonly status?: object;
}

/** Undefined: not a path of these. */
export async function answerSubresource(
  client: KubeClient,
  method: string | undefined,
  path: string,
): Promise<SubresourceAnswer | undefined> {
  const [, namespace, name, change] = PATH.exec(path) ?? [];
  if (method !== "PUT" || namespace === undefined || name === undefined) return undefined;
  const key = { namespace: decodeURIComponent(namespace), name: decodeURIComponent(name) };
  const vm = await client.get(kubevirt.virtualMachines, key);
  if (vm === undefined) return refusal(404, "NotFound", `virtualmachine.kubevirt.io "${key.name}" not found`);
  const vmi = await client.get(kubevirt.virtualMachineInstances, key);
  const patch = change === "start" ? startOf(vm, vmi) : stopOf(vm, vmi);
  if (typeof patch === "string") return patch === UNDERWAY ? internal(patch) : conflict(key, patch);
  return patch === undefined ? { code: 202 } : await apply(client, key, patch);
}

interface Patch {
  readonly subresource?: "status";
  readonly body: readonly object[];
}

type Vm = kubevirt.VirtualMachine;
type Vmi = kubevirt.VirtualMachineInstance;
/** A text: the conflict; undefined: nothing to do. */
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

function internal(why: string): SubresourceAnswer {
  return refusal(500, "InternalError", `Internal error occurred: ${why}`);
}

function conflict({ name }: Key, why: string): SubresourceAnswer {
  return refusal(409, "Conflict", `Operation cannot be fulfilled on virtualmachine.kubevirt.io "${name}": ${why}`);
}

function refusal(code: number, reason: string, message: string): SubresourceAnswer {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  return { code, status };
}
