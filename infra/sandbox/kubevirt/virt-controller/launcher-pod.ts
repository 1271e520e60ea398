/** Creates launcher pods as virt-controller does. */
import { createHash } from "node:crypto";
import { ownerReferenceTo, type Draft, type Node, type Pod } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

export const IMAGE = "quay.io/kubevirt/virt-launcher:v1.9.0";
/** The seconds that virt-controller adds to the guest's grace period. */
const EXTRA_GRACE_SECONDS = 30;
/** The annotations of a VMI that are not copied to the pod. */
const NOT_COPIED = /^(kubectl\.kubernetes\.io|kubevirt\.io\/(storage|latest)-observed-api-version)/;

export function launcherPod(vmi: Vmi): Draft<Pod> {
  return pod(vmi, vmi.metadata.uid);
}

export interface Source {
  readonly pod: Pod | undefined;
  readonly node: Node | undefined;
}

/** Returns the target pod of a migration. Anti-affinity keeps the pod away from the source node. */
export function targetPod(vmi: Vmi, migration: Migration, source: Source): Draft<Pod> {
  const { name, uid } = migration.metadata;
  const target = pod(vmi, uid);
  const { labels, annotations } = target.metadata;
  const besideSource = {
    labelSelector: { matchLabels: { [kubevirt.LABEL.createdBy]: vmi.metadata.uid } },
    topologyKey: "kubernetes.io/hostname",
  };
  const { podAntiAffinity = {} } = vmi.spec.affinity ?? {};
  const required = podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const own = { ...target.spec?.nodeSelector, ...migration.spec.addedNodeSelector };
  const nodeSelector = { ...own, ...hostModelOf(vmi, source), ...vendorOf(own, source) };
  const affinity = {
    ...vmi.spec.affinity,
    podAntiAffinity: {
      ...podAntiAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: [...required, besideSource],
    },
  };
  return {
    ...target,
    metadata: {
      ...target.metadata,
      labels: { ...labels, [kubevirt.LABEL.migrationJobUID]: uid },
      annotations: { ...annotations, [kubevirt.ANNOTATION.migrationJobName]: name },
    },
    spec: { containers: [], ...target.spec, nodeSelector, affinity },
  };
}

const LABELS = ["cpu-feature", "cpu-model-migration", "host-model-cpu", "host-model-required-features"] as const;
const [FEATURE = "", MODEL = "", HOST_CPU = "", HOST_FEATURE = ""] = LABELS.map((one) => `${one}.node.kubevirt.io/`);
const VENDOR = "cpu-vendor.node.kubevirt.io/";

/**
 * Returns the node labels that describe the source node's CPU. After its first migration, a VM keeps the labels of its
 * first node. Upstream: `prepareNodeSelectorForHostCpuModel`.
 */
function hostModelOf({ spec }: Vmi, { pod: sourcePod, node }: Source): Record<string, string> {
  if (spec.domain.cpu?.model !== "host-model") return {};
  const given = Object.entries(sourcePod?.spec?.nodeSelector ?? {});
  const before = given.filter(([key]) => key.startsWith(FEATURE) || key.startsWith(MODEL));
  if (before.length > 0) return Object.fromEntries(before);
  const labels = Object.entries(node?.metadata.labels ?? {});
  if (!labels.some(([key]) => key.startsWith(HOST_CPU))) throw new Error("unable to locate host cpu model");
  return Object.fromEntries(
    labels.flatMap(([key, value]) => {
      if (key.startsWith(HOST_CPU)) return [[key.replace(HOST_CPU, MODEL), value]];
      return key.startsWith(HOST_FEATURE) ? [[key.replace(HOST_FEATURE, FEATURE), value]] : [];
    }),
  );
}

function vendorOf(selector: Readonly<Record<string, string>>, { node }: Source): Record<string, string> {
  if (Object.keys(selector).some((key) => key.startsWith(VENDOR))) return {};
  const vendor = Object.keys(node?.metadata.labels ?? {}).find((key) => key.startsWith(VENDOR));
  return vendor === undefined ? {} : { [vendor]: "true" };
}

export function isTargetOf(pod: Pod, migration: Migration): boolean {
  return pod.metadata.labels?.[kubevirt.LABEL.migrationJobUID] === migration.metadata.uid;
}

function pod(vmi: Vmi, seed: string): Draft<Pod> {
  const { name, namespace = "", uid, labels, annotations } = vmi.metadata;
  const { terminationGracePeriodSeconds = kubevirt.DEFAULT_GRACE_SECONDS, nodeSelector, ...spec } = vmi.spec;
  const volumes = imageVolumesOf(vmi);
  return {
    metadata: {
      name: podName(name, seed),
      namespace,
      labels: { ...labels, [kubevirt.LABEL.app]: "virt-launcher", [kubevirt.LABEL.createdBy]: uid },
      annotations: {
        [kubevirt.ANNOTATION.domain]: name,
        ...Object.fromEntries(Object.entries(annotations ?? {}).filter(([key]) => !NOT_COPIED.test(key))),
        "kubectl.kubernetes.io/default-container": "compute",
      },
      ownerReferences: [ownerReferenceTo(vmi, kubevirt.virtualMachineInstances)],
    },
    spec: {
      containers: [{ name: "compute", image: IMAGE, resources: { requests: requestsOf(vmi) } }],
      initContainers: [{ name: "guest-console-log", image: IMAGE, restartPolicy: "Always" }],
      ...(volumes.length > 0 && { volumes }),
      restartPolicy: "Never",
      terminationGracePeriodSeconds: terminationGracePeriodSeconds + EXTRA_GRACE_SECONDS,
      nodeSelector: { ...nodeSelector, ...modelOf(vmi), [kubevirt.LABEL.schedulable]: "true" },
      ...(spec.tolerations && { tolerations: spec.tolerations }),
      ...(spec.affinity && { affinity: spec.affinity }),
      ...(spec.topologySpreadConstraints && { topologySpreadConstraints: spec.topologySpreadConstraints }),
      ...(spec.priorityClassName !== undefined && { priorityClassName: spec.priorityClassName }),
    },
  };
}

function imageVolumesOf({ spec }: Vmi) {
  return (spec.volumes ?? []).flatMap(({ name, containerDisk }) =>
    containerDisk?.image === undefined ? [] : [{ name, image: { reference: containerDisk.image } }],
  );
}

/** Returns the node label of the VM's CPU model. Upstream: `Render` of the NodeSelectorRenderer. */
function modelOf({ spec }: Vmi): Record<string, string> {
  const { model = "host-model" } = spec.domain.cpu ?? {};
  return model.startsWith("host-") ? {} : { [`cpu-model.node.kubevirt.io/${model}`]: "true" };
}

function requestsOf({ spec }: Vmi): Record<string, string> {
  const { resources, memory } = spec.domain;
  return { cpu: "100m", memory: memory?.guest ?? "128Mi", "ephemeral-storage": "50M", ...resources?.requests };
}

const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const PREFIX_LENGTH = 58;

/**
 * Returns a pod name with a suffix that depends only on the seed. With an old cache, virt-controller can try to create
 * the same pod twice. The API server then refuses the second request.
 */
function podName(vmi: string, seed: string): string {
  const suffix = [...createHash("sha256").update(seed).digest().subarray(0, 5)].map(
    (byte) => ALPHABET[byte % ALPHABET.length],
  );
  return `virt-launcher-${vmi}-`.slice(0, PREFIX_LENGTH) + suffix.join("");
}
