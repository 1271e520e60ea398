/** Names the objects that the command cannot parse, so that no command takes such an object for absent. */
import type { Client, Listing } from "../../shared/kube/client.ts";
import type { FactsOf, Resource } from "../../shared/kube/resources.ts";
import { Failed } from "./failed.ts";
import { CLI_MESSAGES as MESSAGES } from "./messages.ts";
import { printable } from "./print.ts";

export interface UnreadObject {
  readonly resource: Resource;
  readonly name: string;
  /** The kind, the name and the namespace: `evacuation/web-1 -n apps`. */
  readonly object: string;
  /** The first field that is wrong, and why. */
  readonly issue: string;
}

/** Describes a list item that cannot be parsed. `said` is `namespace/name: issue`, as the client reports the item. */
export function unreadOf(resource: Resource, said: string): UnreadObject {
  const [key = "", ...issue] = printable(said).split(": ");
  const [name = "", namespace] = key.split("/").toReversed();
  const place = namespace === undefined ? "" : ` -n ${namespace}`;
  return { resource, name, object: `${singular(resource)}/${name}${place}`, issue: issue.join(": ") };
}

function singular(resource: Resource): string {
  return resource.replace(/ies$/, "y").replace(/s$/, "");
}

/** Lists objects, and also returns the objects that cannot be parsed. */
export async function listAll<R extends Resource>(
  cluster: Client,
  resource: R,
  listing: Listing = {},
): Promise<{ readonly items: readonly FactsOf<R>[]; readonly unread: readonly UnreadObject[] }> {
  const unread: UnreadObject[] = [];
  const onOdd = (said: string) => void unread.push(unreadOf(resource, said));
  const items = await cluster.list(resource, { ...listing, onOdd });
  return { items, unread };
}

/** Returns the failure for a followed object that is not in a list any more. */
export function notInList(kind: string, name: string, unread: readonly UnreadObject[]): Failed {
  const odd = unread.find((one) => one.name === name);
  return new Failed(odd === undefined ? MESSAGES.removed(kind, name) : MESSAGES.unread(odd));
}

/** Returns a function that reports each unreadable object once. */
export function unreadNews(say: (line: string) => void): (resource: Resource, said: string) => void {
  const known = new Set<string>();
  return (resource, said) => {
    const line = MESSAGES.unread(unreadOf(resource, said));
    if (!known.has(line)) say(`‼ ${line}\n`);
    known.add(line);
  };
}
