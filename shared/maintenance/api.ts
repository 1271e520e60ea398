/** What a person asks for of a node, by the command or on the page: to be emptied, and to pause, resume or cancel that. */
import { MANAGED, test } from "../evacuation/manifests.ts";
import { type Client, meaningOf, named } from "../kube/client.ts";
import { hasEnded, type NodeEvacuationFacts, type WhenBlocked } from "../kube/node-evacuation.ts";
import { derivedName } from "../kube/objects.ts";

export interface NodeAsked {
  readonly node: string;
  readonly requestedBy: string;
  readonly whenBlocked: WhenBlocked;
  /** RFC 3339. Absent: at once. */
  readonly notBefore?: string | undefined;
  /** Pods with an emptyDir go, too, as with `--delete-emptydir-data`; else they block. */
  readonly withLocalData: boolean;
}

/** `Lacking`: Lifeboat's account may not. */
export type Emptying =
  | { readonly result: "Started"; readonly name: string }
  | { readonly result: "Joined" | "NodeNotFound" | "Lacking" | "TryAgain" };

const REFUSED = { 403: "Lacking", 404: "Lacking", 409: "TryAgain", 422: "TryAgain" } as const;

/** For a person: Lifeboat deletes it some time after its end. */
export function newNodeEvacuation(node: string, now: Date, spec: object) {
  const name = derivedName("", node, now.toISOString().replaceAll(/\D/g, "").slice(0, 14));
  const metadata = { name, labels: MANAGED };
  const manifest = { apiVersion: "lifeboat.dev/v1alpha1", kind: "NodeEvacuation", metadata };
  return { name, manifest: { ...manifest, spec: { nodeName: node, ...spec } } };
}

/** One of the node that has not ended is joined. */
export async function emptyNode(asked: NodeAsked, cluster: Client, now: Date): Promise<Emptying> {
  const { node, requestedBy, whenBlocked, notBefore, withLocalData } = asked;
  const [found, all] = await Promise.all([cluster.get("nodes", named(node)), cluster.list("nodeevacuations")]);
  if (found === undefined) return { result: "NodeNotFound" };
  if (all.some((ne) => ne.spec.nodeName === node && !hasEnded(ne))) return { result: "Joined" };
  const { name, manifest } = newNodeEvacuation(node, now, {
    reason: `asked for on Lifeboat's page by ${requestedBy}`.slice(0, 1024).toWellFormed(),
    ...(notBefore !== undefined && { schedule: { notBefore } }),
    virtualMachines: { whenBlocked },
    otherPods: withLocalData ? "EvictWithLocalData" : "Evict",
  });
  const answer = await cluster.create("nodeevacuations", manifest, { expect: [403] });
  const result = meaningOf(answer, REFUSED);
  return result === "Done" ? { result: "Started", name } : { result };
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
