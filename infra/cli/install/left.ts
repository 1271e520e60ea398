/** Lists the objects and fields that `lifeboat uninstall` leaves in a cluster. */
import type { Client } from "../../../shared/kube/client.ts";
import * as names from "../../../shared/kube/names.ts";
import { ifServed } from "./apply.ts";
import { INSTALL_MESSAGES as MESSAGES } from "./messages.ts";
import * as z from "zod/mini";

const Keys = z._default(z.record(z.string(), z.string()), {});
const Item = z.object({
  metadata: z.object({ namespace: z._default(z.string(), ""), name: z.string(), labels: Keys, annotations: Keys }),
  spec: z.optional(z.object({ unschedulable: z.optional(z.boolean()) })),
});

const KINDS = [
  ["virtualmachines", "virtualmachine"],
  ["virtualmachineinstances", "virtualmachineinstance"],
  ["nodes", "node"],
] as const;
const PREFIX = "lifeboat.dev/";
/** The labels and annotations that Lifeboat itself writes and removes. */
const OWN: ReadonlySet<string> = new Set([names.EVACUATION_LABEL, names.SHIELD_LABEL, names.CORDONED_BY_ANNOTATION]);
const MOST = 20;

/**
 * Lists the nodes that Lifeboat has cordoned. If `among` is given, lists the nodes in `among` that are still cordoned.
 */
export async function cordonedNodes(connect: () => Client, among?: readonly string[]): Promise<readonly string[]> {
  const nodes = (await connect().list("nodes", { as: Item })).filter(({ spec }) => spec?.unschedulable === true);
  const isMeant = ({ metadata: { name, annotations } }: z.output<typeof Item>) =>
    among?.includes(name) ?? names.CORDONED_BY_ANNOTATION in annotations;
  return nodes.filter(isMeant).map(({ metadata }) => metadata.name);
}

/**
 * Lists labels and annotations that owners have set for Lifeboat. `lifeboat uninstall` does not remove these labels and
 * annotations.
 */
export async function ownersKeys(connect: () => Client): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const [resource, kind] of KINDS) {
    for (const { metadata } of (await ifServed(connect().list(resource, { as: Item }))) ?? []) {
      const { namespace, name, labels, annotations } = metadata;
      const keys = Object.keys({ ...labels, ...annotations }).filter((key) => key.startsWith(PREFIX) && !OWN.has(key));
      const place = namespace === "" ? "" : ` -n ${namespace}`;
      if (keys.length > 0) lines.push(MESSAGES.keysOf(`${kind}/${name}${place}`, keys.toSorted()));
    }
  }
  return lines.length > MOST ? [...lines.slice(0, MOST), MESSAGES.more(lines.length - MOST)] : lines;
}
