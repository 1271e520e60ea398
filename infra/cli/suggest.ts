/** Suggests names of nodes and VMs that are similar to the typed name. */
import { distance } from "fastest-levenshtein";
import type { Listing } from "../../shared/kube/client.ts";
import type { NamespacedName } from "../../shared/kube/facts.ts";
import { ClusterError } from "../../shared/kube/failures.ts";
import type { Connection } from "./connection.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { printable } from "./print.ts";

const MOST = 3;

/** Returns at most three similar names, the most similar first. */
export function similar(typed: string, known: readonly string[]): readonly string[] {
  const rated = known
    .filter((name) => name !== typed)
    .map((name) => ({ name, away: name.startsWith(`${typed}.`) ? 0 : distance(typed, name) }))
    .filter(({ name, away }) => away <= Math.max(1, Math.floor(Math.max(typed.length, name.length) / 3)));
  const nearest = rated.toSorted(
    (a, b) => a.away - b.away || a.name.localeCompare(b.name, undefined, { numeric: true }),
  );
  return nearest.slice(0, MOST).map(({ name }) => name);
}

/** Returns the end of an error message about a missing node, with similar names. */
export async function orNode(typed: string, { cluster }: Connection): Promise<string> {
  const nodes = await unlessRefused(cluster().list("nodes"));
  return meant(
    similar(
      typed,
      nodes.map(({ name }) => name),
    ),
  );
}

/** Returns the end of an error message about a missing VM, with similar names. */
export async function orVm({ namespace, name }: NamespacedName, { cluster }: Connection): Promise<string> {
  const list = (selected: Listing) => unlessRefused(cluster().list("virtualmachineinstances", selected));
  const elsewhere = await list({ fields: { "metadata.name": name } });
  if (elsewhere.length > 0) return meant(elsewhere.slice(0, MOST).map((vmi) => `${name} -n ${vmi.namespace}`));
  const names = (await list({ namespace })).map((vmi) => vmi.name);
  return meant(similar(name, names));
}

export function meant(names: readonly string[]): string {
  return MESSAGES.orSimilar(names.map(printable));
}

async function unlessRefused<T>(listed: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await listed;
  } catch (error) {
    if (error instanceof ClusterError) return [];
    throw error;
  }
}
