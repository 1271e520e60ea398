/** Reads the facts of a preflight from the API server. */
import { decide } from "../facts/decide.ts";
import type { Facts } from "../facts/facts.ts";
import { liveReads } from "../facts/reads.ts";
import type { Observer } from "../settings/load-settings.ts";
import type { DrainFlags, PreflightFacts } from "./facts.ts";
import { podsOfNode, preflightOf } from "./of-node.ts";

/** Reads the facts of a preflight. Returns undefined if the node does not exist. */
export async function readPreflight(
  name: string,
  flags: DrainFlags,
  { cluster, settings, now }: Observer,
): Promise<PreflightFacts | undefined> {
  const rule = (facts: Facts) => preflightOf(name, flags, { facts, settings, now });
  return (await decide(rule, liveReads(cluster))).answer;
}

export async function readPodsOf(name: string, flags: DrainFlags, { cluster, settings, now }: Observer) {
  const rule = (facts: Facts) => podsOfNode(name, flags, { facts, settings, now });
  return (await decide(rule, liveReads(cluster))).answer;
}
