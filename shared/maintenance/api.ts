/** Carries out a person's commands for a node: drain, pause, resume, cancel. */
import { MANAGED, test } from "../act/manifests.ts";
import { type Client, meaningOf, named } from "../kube/client.ts";
import type { NodeEvacuationFacts } from "../kube/node-evacuation.ts";
import { derivedName } from "../kube/objects.ts";

const REFUSED = { 403: "Lacking", 404: "Lacking", 409: "TryAgain", 422: "TryAgain" } as const;

/** For a person: Lifeboat deletes it some time after its end. */
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

/** On condition that it asks for no more than was looked at: what it does to VMs takes rights of its own. */
export async function changeNodeEvacuation(
  { name, uid, spec: { virtualMachines } }: NodeEvacuationFacts,
  change: Change,
  cluster: Client,
): Promise<"Done" | "Lacking" | "TryAgain"> {
  const [field, value] = CHANGES[change];
  const { whenBlocked, whenAttemptsFail } = virtualMachines;
  const patch = [
    test("/metadata/uid", uid),
    test("/spec/virtualMachines/whenBlocked", whenBlocked),
    test("/spec/virtualMachines/whenAttemptsFail", whenAttemptsFail),
    { op: "add", path: `/spec/${field}`, value },
  ];
  const answer = await cluster.patch("nodeevacuations", named(name), patch, { expect: [403] });
  return meaningOf(answer, { ...REFUSED, 404: "TryAgain" } as const);
}
