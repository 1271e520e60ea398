/** Defines the schema of the fields from which KubeVirt creates a launcher pod. */
import * as z from "zod/mini";
import { type GuestAsks, PLAIN } from "../guest.ts";
import { listOf, milliQuantity, part, present, quantity, Quantities, Quantity, Text, TextsOrNone } from "./fields.ts";
import { AntiAffinity, NodeAffinity, Tolerations } from "./pod-requirements.ts";

const MaybeCount = z.nullish(z.number());
const TOPOLOGY = { sockets: MaybeCount, cores: MaybeCount, threads: MaybeCount };

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

export function guestShape() {
  return {
    nodeSelector: TextsOrNone,
    affinity: part({
      nodeAffinity: NodeAffinity,
      podAffinity: part({ [REQUIRED]: listOf(z.unknown()) }),
      podAntiAffinity: part({ [REQUIRED]: AntiAffinity }),
    }),
    tolerations: Tolerations,
    topologySpreadConstraints: listOf(z.object({ whenUnsatisfiable: z.string() })),
    resourceClaims: listOf(z.unknown()),
    domain: part({
      cpu: part({
        ...TOPOLOGY,
        model: Text,
        dedicatedCpuPlacement: z.nullish(z.boolean()),
        features: listOf(z.object({ name: z.string(), policy: Text })),
      }),
      ioThreads: part({ supplementalPoolThreadCount: MaybeCount }),
      memory: part({ guest: Quantity, hugepages: part({ pageSize: Text }) }),
      resources: part({ requests: Quantities, limits: Quantities }),
    }),
  };
}

const GuestSpec = z.lazy(() => z.object(guestShape()));
type Spec = z.output<typeof GuestSpec>;

/** The `spec.template.spec` of a VirtualMachine. */
export const Template = z.lazy(() =>
  z.pipe(
    GuestSpec,
    z.transform((spec): GuestAsks => ({ ...asksOf(spec), unchecked: [...uncheckedOf(spec), ...spreadOf(spec)] })),
  ),
);

type Topology = z.output<z.ZodMiniObject<typeof TOPOLOGY>>;

/**
 * Returns the number of virtual CPUs, or undefined if none of the three numbers is set. Upstream: `GetNumberOfVCPUs`.
 */
function vcpusOf({ sockets, cores, threads }: Topology): number | undefined {
  const set = [sockets, cores, threads].filter((count) => typeof count === "number" && count > 0);
  return set.length === 0 ? undefined : set.reduce<number>((product, count) => product * (count ?? 1), 1);
}

const NONE: readonly never[] = [];

/** Returns one shared object for all empty lists, to save memory. */
function orNone<T>(list: readonly T[]): readonly T[] {
  return list.length === 0 ? NONE : list;
}

/**
 * Returns the name of the field if topology spread constraints can exclude nodes. The template's constraints apply only
 * to the VM's next start. A migration's target pod has the constraints of the current pod.
 */
function spreadOf({ topologySpreadConstraints }: Spec): readonly string[] {
  const isStrict = topologySpreadConstraints.some(({ whenUnsatisfiable }) => whenUnsatisfiable === "DoNotSchedule");
  return isStrict ? ["topologySpreadConstraints"] : [];
}

function uncheckedOf({ affinity, resourceClaims }: Spec): readonly string[] {
  return orNone([
    ...(affinity.podAffinity[REQUIRED].length > 0 ? ["podAffinity"] : []),
    ...(resourceClaims.length > 0 ? ["resourceClaims"] : []),
  ]);
}

export function asksOf(spec: Spec): GuestAsks {
  const { nodeSelector, affinity, tolerations, domain } = spec;
  const { cpu, memory, resources, ioThreads } = domain;
  const { requests, limits } = resources;
  const vcpus = vcpusOf(cpu);
  return present({
    nodeSelector: Object.keys(nodeSelector).length === 0 ? PLAIN.nodeSelector : nodeSelector,
    required: affinity.nodeAffinity?.[REQUIRED]?.nodeSelectorTerms,
    tolerations: orNone(tolerations),
    antiAffinity: orNone(affinity.podAntiAffinity[REQUIRED]),
    unchecked: uncheckedOf(spec),
    cpuModel: cpu.model,
    forbiddenFeatures: orNone(cpu.features.flatMap(({ name, policy }) => (policy === "forbid" ? [name] : []))),
    vcpus: vcpus === undefined ? undefined : vcpus + (ioThreads.supplementalPoolThreadCount ?? 0),
    hasDedicatedCpus: cpu.dedicatedCpuPlacement === true,
    guestMemory: quantity(memory.guest) || undefined,
    hugepages: memory.hugepages.pageSize,
    requestedMemory: quantity(requests["memory"]) || quantity(limits["memory"]) || undefined,
    requestedCpu: requests["cpu"] === undefined ? undefined : milliQuantity(requests["cpu"]),
  });
}

export const CurrentCpu = z.lazy(() => z.pipe(part(TOPOLOGY), z.transform(vcpusOf)));
export const CurrentMemory = z.lazy(() =>
  z.pipe(
    part({ guestCurrent: Quantity }),
    z.transform(({ guestCurrent }) => quantity(guestCurrent) || undefined),
  ),
);
