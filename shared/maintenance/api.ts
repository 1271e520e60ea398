/** Creates manifests of NodeEvacuations and RollingMaintenances, and pauses, resumes or cancels these objects. */
import { MANAGED, test } from "../act/manifests.ts";
import { type Client, meaningOf, named } from "../kube/client.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { derivedName } from "../kube/objects.ts";
import type { RollingMaintenanceFacts } from "../kube/rolling-maintenance.ts";

const REFUSED = { 403: "Lacking", 404: "Lacking", 409: "TryAgain", 422: "TryAgain" } as const;

/**
 * Returns the name and the manifest of a NodeEvacuation. The manifest contains a label. Because of this label, Lifeboat
 * deletes the NodeEvacuation some time after its end.
 */
export function newNodeEvacuation(node: string, now: Date, spec: object) {
  const name = derivedName("", node, now.toISOString().replaceAll(/\D/g, "").slice(0, 14));
  const metadata = { name, labels: MANAGED };
  const manifest = { apiVersion: "lifeboat.dev/v1alpha1", kind: "NodeEvacuation", metadata };
  return { name, manifest: { ...manifest, spec: { nodeName: node, ...spec } } };
}

const CHANGES = {
  pause: ["progress", "Paused"],
  resume: ["progress", "Running"],
  cancel: ["intent", "Withdrawn"],
} as const;
export type Change = keyof typeof CHANGES;

/**
 * Returns the name and the manifest of a RollingMaintenance. The manifest contains a label. Because of this label,
 * Lifeboat deletes the RollingMaintenance some time after its end.
 */
export function newRollingMaintenance(names: readonly string[], now: Date, spec: object) {
  const name = derivedName(
    "",
    names[0] ?? "nodes",
    `${names.length}-${now.toISOString().replaceAll(/\D/g, "").slice(0, 14)}`,
  );
  const metadata = { name, labels: MANAGED };
  const manifest = { apiVersion: "lifeboat.dev/v1alpha1", kind: "RollingMaintenance", metadata };
  return { name, manifest: { ...manifest, spec: { nodes: { names }, ...spec } } };
}

export type Changed = "Done" | "Lacking" | "TryAgain";

/**
 * Changes a NodeEvacuation. The patch fails if `whenBlocked` or `whenAttemptsFail` has changed since the object was
 * read. These two fields decide whether the drain restarts or stops VMs, which needs separate permissions.
 */
export async function changeNodeEvacuation(
  { name, uid, spec: { virtualMachines } }: NodeEvacuationFacts,
  change: Change,
  cluster: Client,
): Promise<Changed> {
  const patch = patchFor({ uid, virtualMachines, at: "/spec/virtualMachines" }, change);
  const answer = await cluster.patch("nodeevacuations", named(name), patch, { expect: [403] });
  return meaningOf<Changed>(answer, { ...REFUSED, 404: "TryAgain" });
}

/**
 * Changes a RollingMaintenance. The patch fails if `whenBlocked` or `whenAttemptsFail` of the template has changed
 * since the object was read. These two fields decide whether the drains restart or stop VMs, which needs separate
 * permissions.
 */
export async function changeRolling(
  { name, uid, spec: { template } }: RollingMaintenanceFacts,
  change: Change,
  cluster: Client,
): Promise<Changed> {
  const { virtualMachines } = template;
  const patch = patchFor({ uid, virtualMachines, at: "/spec/template/virtualMachines" }, change);
  const answer = await cluster.patch("rollingmaintenances", named(name), patch, { expect: [403] });
  return meaningOf<Changed>(answer, { ...REFUSED, 404: "TryAgain" });
}

interface Seen {
  readonly uid: string;
  readonly virtualMachines: NodeEvacuationFacts["spec"]["virtualMachines"];
  readonly at: string;
}

function patchFor({ uid, virtualMachines, at }: Seen, change: Change) {
  const [field, value] = CHANGES[change];
  const { whenBlocked, whenAttemptsFail } = virtualMachines;
  return [
    test("/metadata/uid", uid),
    test(`${at}/whenBlocked`, whenBlocked),
    test(`${at}/whenAttemptsFail`, whenAttemptsFail),
    { op: "add", path: `/spec/${field}`, value },
  ];
}
