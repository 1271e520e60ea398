/** The exports of the package. Code outside of this folder must import only this file. */

// Clusters.
export {
  isReal,
  isSimulated,
  startSandbox,
  type RealOptions,
  type RealSandbox,
  type Sandbox,
  type SandboxOptions,
  type SimulatedOptions,
  type SimulatedSandbox,
} from "./sandbox.ts";
export type { ProgramKnobs, ProgramName } from "./binaries/control-plane.ts";
export type { Effect, FaultMatch } from "./apiserver/faults.ts";
export type { Container, Images, Program } from "./processes/images.ts";
export { createAuthority, type Authority } from "./certificates.ts";
export { kubeconfigOf, kubeconfigText, type Credentials } from "./kubeconfig.ts";
export { USERS } from "./identities.ts";
export { freePort } from "./free-port.ts";

// Objects in a cluster.
export {
  createNode,
  createVirtualMachine,
  createVirtualMachineInstance,
  type Capacity,
  type VirtualMachine,
} from "./fleet.ts";
export { createPod, createPriorityClass, type PlainPod, type PriorityClassOptions } from "./workloads.ts";
export { applyManifests } from "./manifests.ts";
export { DEPLOYED, KUBEVIRT, KUBEVIRT_RBAC } from "./kubevirt/manifests.ts";
export { grant, type Manifest } from "./actors/rbac.ts";

// Clients, clocks, and functions that watch objects.
export { createClient, type KubeClient, type Patch, type RawAnswer, type WatchEvent } from "./actors/client.ts";
export type { RawRequest } from "./actors/transport.ts";
export { createSteppedClock, systemClock, type Clock, type SteppedClock } from "./actors/clock.ts";
export { startInformer, type Informer } from "./actors/informer.ts";
export { waitFor, type Awaited } from "./actors/wait-for.ts";
export { isAlreadyExists, isNotFound, StatusError } from "./actors/status-error.ts";

export * as core from "./actors/resources.ts";
export {
  clusterRoles,
  configMaps,
  controllerOf,
  deployments,
  events,
  keyOf,
  leases,
  namespaces,
  resourceQuotas,
  nodes,
  ownerReferenceTo,
  podDisruptionBudgets,
  pods,
  replicaSets,
  secrets,
  serviceAccounts,
  type Event,
  type Key,
  type KubeObject,
  type Node,
  type PersistentVolume,
  type Pod,
  type PodDisruptionBudget,
  type Resource,
} from "./actors/resources.ts";
export * as kubevirt from "./kubevirt/resources.ts";
export {
  ANNOTATION,
  isFinal,
  kubeVirts,
  LABEL,
  migrations,
  virtualMachineInstances,
  virtualMachines,
  type EvictionStrategy,
  type MigrationState,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "./kubevirt/resources.ts";
export { findCondition, isTrue, type Condition } from "./actors/conditions.ts";

// Single components, such as the kubelet, the scheduler and virt-controller.
export type { Actor } from "./actors/actor.ts";
export { markDisruptionTarget } from "./actors/disruption-target.ts";
export { asNode } from "./actors/kubelet.ts";
export { createKubeletRecorder } from "./actors/kubelet-events.ts";
export { whyNot } from "./actors/node-fit.ts";
export { bestOf, seededLots, type Lots } from "./actors/node-score.ts";
export { launcherPod, targetPod } from "./kubevirt/virt-controller/launcher-pod.ts";
export { taintDeviceOf } from "./actors/device-taint-manager.ts";
export { terminateNode } from "./actors/node-termination.ts";
export { evaluateCondition } from "./kubevirt/virt-handler/node-hooks.ts";

// Parts of an API server, for other API servers and for benchmarks.
export { startApiServer } from "./apiserver/server.ts";
export { applyJsonPatch, readJsonPatch } from "./apiserver/patch/json.ts";
export { applyMergePatch } from "./apiserver/patch/merge.ts";
export { matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector } from "./apiserver/selectors.ts";
export { KUBEVIRT_DEFINITIONS } from "./kubevirt/kinds.ts";
export { SUBRESOURCES } from "./kubevirt/subresources.ts";
export { startVirtApi, type VirtApi } from "./kubevirt/virt-api.ts";
export { PATHS } from "./kubevirt/webhooks/configurations.ts";
