/**
 * virt-api's webhook for evictions of launcher and hotplug pods. It sets the VMI's evacuationNodeName, unless the field
 * is already set.
 */
import type { KubeClient, Patch } from "../../actors/client.ts";
import { isTrue } from "../../actors/conditions.ts";
import { pods, type KubeObject, type Pod } from "../../actors/resources.ts";
import { messageOf } from "../../actors/status-error.ts";
import * as kubevirt from "../resources.ts";
import { ALLOWED, type AdmissionRequest, type AdmissionResponse, type Admit } from "./review.ts";

type Vmi = kubevirt.VirtualMachineInstance;

export interface Eviction extends KubeObject {
  readonly deleteOptions?: { readonly dryRun?: readonly string[] };
}

const DESCHEDULER = "sigs.k8s.io/descheduler";

export function admitEviction(client: KubeClient): Admit<Eviction> {
  return async (request) => {
    const { namespace = "", name = "" } = request;
    // virt-api allows the eviction if it cannot read the pod.
    const pod = await client.get(pods, { namespace, name }).catch(() => undefined);
    if (pod === undefined) return ALLOWED;
    if (isHotplugPod(pod)) return hotplugEviction(client, pod);
    return isLiveLauncher(pod) ? launcherEviction(client, pod, request) : ALLOWED;
  };
}

async function hotplugEviction(client: KubeClient, pod: Pod): Promise<AdmissionResponse> {
  const { namespace = "", name, ownerReferences = [] } = pod.metadata;
  const owner = await client.get(pods, { namespace, name: ownerReferences[0]?.name ?? "" });
  const vmiName = owner && isLiveLauncher(owner) ? owner.metadata.annotations?.[kubevirt.ANNOTATION.domain] : undefined;
  if (vmiName === undefined) return ALLOWED;
  const vmi = await client.get(kubevirt.virtualMachineInstances, { namespace, name: vmiName });
  if (vmi === undefined) return ALLOWED;
  return denied(`cannot evict hotplug pod: ${name} associated with running vmi: ${vmiName} in namespace ${namespace}`);
}

async function launcherEviction(
  client: KubeClient,
  pod: Pod,
  request: AdmissionRequest<Eviction>,
): Promise<AdmissionResponse> {
  const { namespace = "", annotations = {} } = pod.metadata;
  const { [kubevirt.ANNOTATION.domain]: name } = annotations;
  if (name === undefined) return ALLOWED;
  const vmi = await getVmi(client, { namespace, name });
  if (typeof vmi === "string") return denied(`kubevirt failed getting the vmi: ${vmi}`);
  switch (await consequenceOf(client, vmi)) {
    case "none":
      return ALLOWED;
    case "refusal":
      return denied(`VMI ${name} is configured with an eviction strategy but is not live-migratable`);
    case "evacuation":
      return evacuate(client, vmi, pod, request);
  }
}

async function consequenceOf(client: KubeClient, vmi: Vmi): Promise<"none" | "refusal" | "evacuation"> {
  const strategy = vmi.spec.evictionStrategy ?? (await clusterStrategy(client)) ?? "None";
  const migratable = isTrue(vmi.status?.conditions, "LiveMigratable");
  switch (strategy) {
    case "External":
      return "evacuation";
    case "LiveMigrate":
      return migratable ? "evacuation" : "refusal";
    case "LiveMigrateIfPossible":
      return migratable ? "evacuation" : "none";
    default:
      return "none";
  }
}

async function evacuate(
  client: KubeClient,
  vmi: Vmi,
  pod: Pod,
  request: AdmissionRequest<Eviction>,
): Promise<AdmissionResponse> {
  const { metadata, status = {} } = vmi;
  const triggered = `Eviction triggered evacuation of VMI "${metadata.namespace}/${metadata.name}"`;
  if (status.evacuationNodeName !== undefined) return denied(`Evacuation in progress: ${triggered}`);
  if (status.nodeName !== pod.spec?.nodeName) return denied("Eviction request for target Pod");
  try {
    const query = isDryRun(request) ? { dryRun: "All" } : {};
    await client.patch(kubevirt.virtualMachineInstances, metadata, markOf(vmi, pod, request.object), { query });
  } catch (error) {
    return denied(`kubevirt failed marking the vmi for eviction: ${messageOf(error)}`);
  }
  return denied(triggered);
}

/** Returns true if the eviction is a dry run. The API server does not copy the Eviction's dryRun to the review. */
function isDryRun({ dryRun, object }: AdmissionRequest<Eviction>): boolean {
  return dryRun === true || object.deleteOptions?.dryRun?.[0] === "All";
}

function markOf({ metadata }: Vmi, pod: Pod, eviction: Eviction): Patch {
  const mark = { op: "add", path: "/status/evacuationNodeName", value: pod.spec?.nodeName };
  if (eviction.metadata.annotations?.["requested-by"] !== DESCHEDULER) return { type: "json", body: [mark] };
  const escaped = kubevirt.ANNOTATION.evictionSource.replace("/", "~1");
  const value = "descheduler";
  const hasAnnotations = Object.keys(metadata.annotations ?? {}).length > 0;
  // Upstream bug: the annotation's key in `value` is escaped as in a path. This key is invalid, so the API server
  // refuses the patch.
  const source = hasAnnotations
    ? { op: "replace", path: `/metadata/annotations/${escaped}`, value }
    : { op: "add", path: "/metadata/annotations", value: { [escaped]: value } };
  return { type: "json", body: [mark, source] };
}

async function getVmi(client: KubeClient, key: { namespace: string; name: string }): Promise<Vmi | string> {
  try {
    const vmi = await client.get(kubevirt.virtualMachineInstances, key);
    return vmi ?? `virtualmachineinstances.kubevirt.io "${key.name}" not found`;
  } catch (error) {
    return messageOf(error);
  }
}

async function clusterStrategy(client: KubeClient): Promise<string | undefined> {
  const { items } = await client.list(kubevirt.kubeVirts);
  return items[0]?.spec.configuration?.evictionStrategy;
}

function isHotplugPod({ metadata: { labels, ownerReferences = [] } }: Pod): boolean {
  return labels?.[kubevirt.LABEL.app] === "hotplug-disk" && ownerReferences.length === 1;
}

function isLiveLauncher({ metadata, status }: Pod): boolean {
  return metadata.labels?.[kubevirt.LABEL.app] === "virt-launcher" && !kubevirt.isFinal(status);
}

function denied(message: string): AdmissionResponse {
  return { allowed: false, status: { code: 429, message } };
}
