/** What the package kubevirt-sandbox offers. In this repository other code imports the files themselves. */
export {
  startSandbox,
  type RealOptions,
  type RealSandbox,
  type Sandbox,
  type SandboxOptions,
  type SimulatedOptions,
  type SimulatedSandbox,
} from "./sandbox.ts";
export type { ProgramKnobs, ProgramName } from "./binaries/control-plane.ts";
export type { Container, Images, Program } from "./processes/images.ts";
export {
  createNode,
  createVirtualMachine,
  createVirtualMachineInstance,
  type Capacity,
  type VirtualMachine,
} from "./fleet.ts";
export { createPod, createPriorityClass, type PlainPod, type PriorityClassOptions } from "./workloads.ts";
export { applyManifests } from "./manifests.ts";
export { createClient, type KubeClient, type Patch, type WatchEvent } from "./actors/client.ts";
export { createSteppedClock, systemClock, type Clock, type SteppedClock } from "./actors/clock.ts";
export { waitFor, type Awaited } from "./actors/wait-for.ts";
export { StatusError } from "./actors/status-error.ts";
export {
  configMaps,
  events,
  leases,
  namespaces,
  nodes,
  pathOf,
  podDisruptionBudgets,
  pods,
  secrets,
  serviceAccounts,
  type Key,
  type KubeObject,
  type Resource,
} from "./actors/resources.ts";
export { kubeVirts, migrations, virtualMachineInstances, virtualMachines } from "./kubevirt/resources.ts";
