/**
 * Computes the requests of launcher pods from the guest's CPU and memory. Upstream: `VMIResourcePredicates`,
 * `CalculateMemoryOverhead` (pkg/virt-controller/services).
 */
import type { GuestAsks } from "../kube/guest.ts";
import { ownValue } from "../kube/objects.ts";
import type { Resources } from "../kube/scheduled-pod.ts";
import type { Rendering } from "../settings/settings.ts";

interface Sized {
  readonly requests: Resources;
  readonly limits?: Resources;
}

interface From {
  readonly asks: GuestAsks;
  readonly had: GuestAsks;
  readonly rendering: Rendering;
}

/**
 * The highest requests that KubeVirt can set. If the requests are uncertain, `least` contains the lowest requests, and
 * `field` is the field that makes them uncertain.
 */
interface Rendered {
  readonly most: Sized;
  readonly least?: Sized;
  readonly field?: string;
}

const [KIB, MIB] = [1024, 1024 ** 2];
/**
 * KubeVirt's memory overhead consists of 1/512 of the guest's memory for page tables, some memory for each virtual CPU,
 * and a constant part.
 */
const GUEST_PER_OVERHEAD = 512;
const OVERHEAD_PER_VCPU = 8 * MIB;

/**
 * Computes the resources of the next pod. They are the resources of the current pod plus the changes in the guest's CPU
 * and memory.
 */
export function renderResources(pod: Sized, { asks, had, rendering }: From): Rendered {
  const cpu = cpuOf(asks, rendering) - cpuOf(had, rendering);
  const memory = memoryOf(asks, rendering) - memoryOf(had, rendering);
  const overhead = (overheadOf(asks) - overheadOf(had)) * rendering.overheadRatio;
  const isHuge = asks.hugepages !== undefined;
  const added: Resources = {
    cpu,
    memory: overhead + (isHuge ? 0 : memory),
    ...(isHuge && { [`hugepages-${asks.hugepages}`]: memory }),
  };
  const least = changed(pod, added);
  // KubeVirt sets at least these requests. The current pod might have lower requests, because KubeVirt's configuration
  // can change after the creation of a pod.
  const floors: Resources = { cpu: cpuOf(asks, rendering), ...(!isHuge && { memory: memoryOf(asks, rendering) }) };
  const surely = { ...least, requests: atLeast(least.requests, floors) };
  const ratio = rendering.overheadRatio - 1;
  const present = Math.max(0, (surely.requests["memory"] ?? 0) - (floors["memory"] ?? 0));
  if (ratio <= 0 || present === 0) return { most: surely };
  const more = changed({ ...pod, ...surely }, { memory: ratio * present });
  return { most: more, least: surely, field: "additionalGuestMemoryOverheadRatio of the KubeVirt CR" };
}

function changed({ requests, limits }: Sized, added: Resources): Sized {
  return { requests: plus(requests, added), ...(limits && { limits: plus(limits, added, true) }) };
}

/** Adds amounts. If `isLimit` is set, a limit that is absent remains absent. */
function plus(amounts: Resources, added: Resources, isLimit = false): Resources {
  const changes = Object.entries(added).filter(([name, amount]) => amount !== 0 && (!isLimit || name in amounts));
  const sums = changes.map(([name, amount]) => [name, Math.max(0, Math.ceil((ownValue(amounts, name) ?? 0) + amount))]);
  return { ...amounts, ...Object.fromEntries(sums) };
}

function atLeast(amounts: Resources, floors: Resources): Resources {
  const low = Object.entries(floors).filter(([name, floor]) => floor > (ownValue(amounts, name) ?? 0));
  return { ...amounts, ...Object.fromEntries(low.map(([name, floor]) => [name, Math.ceil(floor)])) };
}

/** Returns the CPU request in millicores. */
function cpuOf({ requestedCpu, vcpus = 0, hasDedicatedCpus }: GuestAsks, { cpuAllocationRatio }: Rendering): number {
  if (hasDedicatedCpus && vcpus > 0) return vcpus * 1000;
  return requestedCpu ?? (vcpus * 1000) / cpuAllocationRatio;
}

/** Returns the memory request in bytes, without KubeVirt's overhead. */
function memoryOf({ requestedMemory, guestMemory = 0 }: GuestAsks, { memoryOvercommit }: Rendering): number {
  return requestedMemory ?? (guestMemory * 100) / memoryOvercommit;
}

function overheadOf({ guestMemory = 0, requestedMemory = guestMemory, vcpus = 0 }: GuestAsks): number {
  return Math.ceil(Math.max(guestMemory, requestedMemory) / GUEST_PER_OVERHEAD / KIB) * KIB + vcpus * OVERHEAD_PER_VCPU;
}
