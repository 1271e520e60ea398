/**
 * virt-controller's VM controller. It creates a VMI for every VirtualMachine that should run. Upstream: syncRunStrategy
 * (pkg/virt-controller/watch/vm/vm.go).
 */
import { isDeepStrictEqual } from "node:util";
import type { ActorOptions } from "../../actors/actor.ts";
import { startController, type Controller, type Result } from "../../actors/controller.ts";
import { controllerOf, keyOf, ownerReferenceTo, parseKey } from "../../actors/resources.ts";
import { isAlreadyExists } from "../../actors/status-error.ts";
import * as kubevirt from "../resources.ts";
import type { World } from "./world.ts";

type Vm = kubevirt.VirtualMachine;
type Vmi = kubevirt.VirtualMachineInstance;

export function startVmController({ client, ...options }: ActorOptions, world: World): Controller {
  /** Reads the objects from the API server. With an old cache, the controller could handle the same request twice. */
  const reconcile = async (key: string): Promise<Result> => {
    const vm = await client.get(kubevirt.virtualMachines, parseKey(key));
    if (vm === undefined || vm.metadata.deletionTimestamp !== undefined) return;
    const vmi = await vmiOf(vm);
    const next = vmi === undefined ? whileOff(vm) : whileOn(vm, vmi);
    if (next === "Start") await start(vm);
    else if (vmi !== undefined && next !== undefined) await stop(vmi);
    await report(vm, vmi, next === "Rerun" ? [{ action: "Start" }] : requestsLeft(vm, vmi));
  };

  const vmiOf = async (vm: Vm): Promise<Vmi | undefined> => {
    const vmi = await client.get(kubevirt.virtualMachineInstances, vm.metadata);
    return vmi !== undefined && controllerOf(vmi)?.uid === vm.metadata.uid ? vmi : undefined;
  };

  const start = async (vm: Vm) => {
    const { metadata, spec } = vm.spec.template;
    const { namespace, name } = vm.metadata;
    const ownerReferences = [ownerReferenceTo(vm, kubevirt.virtualMachines)];
    try {
      await client.create(kubevirt.virtualMachineInstances, {
        metadata: { ...metadata, ...(namespace !== undefined && { namespace }), name, ownerReferences },
        spec: structuredClone(spec),
      });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  };

  const stop = async ({ metadata }: Vmi) => {
    await client.delete(kubevirt.virtualMachineInstances, metadata, { preconditions: { uid: metadata.uid } });
  };

  const report = async (vm: Vm, vmi: Vmi | undefined, stateChangeRequests: kubevirt.StateChangeRequest[]) => {
    const status = {
      ...vm.status,
      runStrategy: kubevirt.runStrategyOf(vm),
      created: vmi !== undefined,
      printableStatus: printable(vmi),
      stateChangeRequests,
    };
    if (isDeepStrictEqual(vm.status, status)) return;
    await client.update(kubevirt.virtualMachines, { ...vm, status }, { subresource: "status" });
  };

  const controller = startController({ name: "vm", reconcile, ...options });
  controller.watch(world.vms, (vm) => [keyOf(vm)]);
  controller.watch(world.vmis, (vmi) => (controllerOf(vmi)?.kind === "VirtualMachine" ? [keyOf(vmi)] : []));
  return controller;
}

/** The next step for a VM. `Rerun` stops the VMI, and then starts a new VMI. */
type Next = "Start" | "Stop" | "Rerun" | undefined;

function whileOff(vm: Vm): Next {
  const isRequested = vm.status?.stateChangeRequests?.[0]?.action === "Start";
  const strategy = kubevirt.runStrategyOf(vm);
  switch (strategy) {
    case "Always":
    case "Once":
      return "Start";
    case "RerunOnFailure":
      return isRequested || vm.status?.runStrategy !== strategy ? "Start" : undefined;
    case "Manual":
      return isRequested ? "Start" : undefined;
    default:
      return undefined;
  }
}

function whileOn(vm: Vm, { metadata, status }: Vmi): Next {
  const strategy = kubevirt.runStrategyOf(vm);
  if (metadata.deletionTimestamp !== undefined || strategy === "Once") return undefined;
  if (strategy === "Halted" || isToStop(vm, metadata.uid)) return "Stop";
  if (!kubevirt.isFinal(status) || strategy === "Manual") return undefined;
  return strategy === "RerunOnFailure" && status?.phase === "Failed" ? "Rerun" : "Stop";
}

function isToStop({ status }: Vm, uid: string): boolean {
  const [request] = status?.stateChangeRequests ?? [];
  return request?.action === "Stop" && request.uid === uid;
}

function requestsLeft({ status }: Vm, vmi: Vmi | undefined): kubevirt.StateChangeRequest[] {
  const requests = status?.stateChangeRequests ?? [];
  return isDone(requests[0], vmi) ? requests.slice(1) : requests;
}

function isDone(request: kubevirt.StateChangeRequest | undefined, vmi: Vmi | undefined): boolean {
  if (request === undefined) return false;
  if (request.action === "Stop") return vmi === undefined || request.uid !== vmi.metadata.uid;
  return vmi !== undefined && vmi.metadata.deletionTimestamp === undefined && !kubevirt.isFinal(vmi.status);
}

function printable(vmi: Vmi | undefined): string {
  if (vmi === undefined) return "Stopped";
  if (vmi.metadata.deletionTimestamp !== undefined) return "Stopping";
  return vmi.status?.phase === "Running" ? "Running" : "Starting";
}
