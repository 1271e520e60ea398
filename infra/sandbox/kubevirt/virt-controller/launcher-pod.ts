/** Launcher pods as virt-controller creates them. */
import { createHash } from "node:crypto";
import { ownerReferenceTo, type Draft, type Pod } from "../../actors/resources.ts";
import * as kubevirt from "../resources.ts";

type Vmi = kubevirt.VirtualMachineInstance;
type Migration = kubevirt.VirtualMachineInstanceMigration;

const IMAGE = "quay.io/kubevirt/virt-launcher:v1.9.0";
/** What the launcher adds to the guest's grace period: for itself, and for the kubelet. */
const EXTRA_GRACE_SECONDS = 30;
/** These annotations stay on the VMI. The pod gets all others, and all labels. */
const NOT_COPIED = /^(kubectl\.kubernetes\.io|kubevirt\.io\/(storage|latest)-observed-api-version)/;

export function launcherPod(vmi: Vmi): Draft<Pod> {
  return pod(vmi, vmi.metadata.uid);
}

/** The pod that a migration moves the VM into; anti-affinity keeps it off the source's node. */
export function targetPod(vmi: Vmi, migration: Migration): Draft<Pod> {
  const { name, uid } = migration.metadata;
  const target = pod(vmi, uid);
  const { labels, annotations } = target.metadata;
  const besideSource = {
    labelSelector: { matchLabels: { [kubevirt.LABEL.createdBy]: vmi.metadata.uid } },
    topologyKey: "kubernetes.io/hostname",
  };
  const { podAntiAffinity = {} } = vmi.spec.affinity ?? {};
  const required = podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const nodeSelector = { ...target.spec?.nodeSelector, ...migration.spec.addedNodeSelector };
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

export function isTargetOf(pod: Pod, migration: Migration): boolean {
  return pod.metadata.labels?.[kubevirt.LABEL.migrationJobUID] === migration.metadata.uid;
}

function pod(vmi: Vmi, seed: string): Draft<Pod> {
  const { name, namespace = "", uid, labels, annotations } = vmi.metadata;
  const { terminationGracePeriodSeconds = kubevirt.DEFAULT_GRACE_SECONDS, nodeSelector, ...spec } = vmi.spec;
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
      restartPolicy: "Never",
      terminationGracePeriodSeconds: terminationGracePeriodSeconds + EXTRA_GRACE_SECONDS,
      nodeSelector: { ...nodeSelector, [kubevirt.LABEL.schedulable]: "true" },
      ...(spec.tolerations && { tolerations: spec.tolerations }),
      ...(spec.affinity && { affinity: spec.affinity }),
      ...(spec.priorityClassName !== undefined && { priorityClassName: spec.priorityClassName }),
    },
  };
}

function requestsOf({ spec }: Vmi): Record<string, string> {
  const { resources, memory } = spec.domain;
  return { cpu: "100m", memory: memory?.guest ?? "128Mi", ...resources?.requests };
}

const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
/** `generateName` keeps 63 - 5 characters of its prefix. */
const PREFIX_LENGTH = 58;

/**
 * A name like those of `generateName: virt-launcher-<vmi>-`, but always the same for the same seed, so that a second
 * creation of the same pod is AlreadyExists, whatever the caches show.
 */
function podName(vmi: string, seed: string): string {
  const suffix = [...createHash("sha256").update(seed).digest().subarray(0, 5)].map(
    (byte) => ALPHABET[byte % ALPHABET.length],
  );
  return `virt-launcher-${vmi}-`.slice(0, PREFIX_LENGTH) + suffix.join("");
}
