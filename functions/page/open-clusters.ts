/** The clusters that a visitor may look at. */
import type { ClusterEntry } from "../../shared/config/clusters.ts";
import { RejectionError } from "../rejection.ts";
import { clusterNames, findEntry, type Surroundings, targetOf } from "../target.ts";
import { clustersIn, findGrant } from "./session.ts";
import type { Visit, Visitor } from "./visit.ts";

/** Of a visitor with more, the rest is left out, which the page says. */
export const MOST_CLUSTERS = 40;

export interface OpenClusters {
  readonly visits: readonly Visit[];
  /** Named in the cookie, which opens them no more. */
  readonly closed: readonly string[];
  /** So many more are in the cookie. */
  readonly more: number;
}

/** One of them. To a stranger, a cluster that there is not looks like one that is closed to them: both throw Unauthorized. */
export async function visitTo(cluster: string, presented: Presented, surroundings: Surroundings): Promise<Visit> {
  // A stranger may name any cluster, and each look-up is a read of KV.
  if (!isNamedIn(presented, cluster)) await openClusters(presented, surroundings);
  try {
    const entry = await findEntry(cluster, surroundings);
    const visitor = await visitorTo(presented, { cluster, entry, now: surroundings.platform.now() });
    if (visitor === undefined) throw new RejectionError("Unauthorized");
    return { target: targetOf(cluster, entry, surroundings), visitor };
  } catch (error) {
    if (error instanceof RejectionError) await openClusters(presented, surroundings);
    throw error;
  }
}

function isNamedIn({ access, cookie }: Presented, cluster: string): boolean {
  return access !== undefined || clustersIn(cookie).includes(cluster);
}

/** Throws Unauthorized where there is none. */
export async function openClusters(presented: Presented, surroundings: Surroundings): Promise<OpenClusters> {
  const named = presented.access === undefined ? clustersIn(presented.cookie) : await clusterNames(surroundings);
  const names = [...new Set(named)].toSorted();
  const asked = names.slice(0, MOST_CLUSTERS);
  const found = await Promise.all(asked.map((name) => openCluster(name, presented, surroundings)));
  const visits = found.filter((visit) => visit !== undefined);
  if (visits.length === 0) throw new RejectionError("Unauthorized");
  const open = new Set(visits.map(({ target }) => target.name));
  return { visits, closed: asked.filter((name) => !open.has(name)), more: names.length - asked.length };
}

/** Undefined: the grant is over or was never one, or the cluster is gone, or its entry is not valid any more. */
async function openCluster(
  cluster: string,
  presented: Presented,
  surroundings: Surroundings,
): Promise<Visit | undefined> {
  try {
    const entry = await findEntry(cluster, surroundings);
    const visitor = await visitorTo(presented, { cluster, entry, now: surroundings.platform.now() });
    return visitor && { target: targetOf(cluster, entry, surroundings), visitor };
  } catch (error) {
    if (!(error instanceof RejectionError)) throw error;
    return undefined;
  }
}

/** What a request brings with it. */
export interface Presented {
  readonly cookie: string | undefined;
  /** Whom Access has let in: opens every cluster. */
  readonly access: Visitor | undefined;
}

interface Asked {
  readonly cluster: string;
  readonly entry: ClusterEntry;
  readonly now: Date;
}

async function visitorTo({ cookie, access }: Presented, asked: Asked): Promise<Visitor | undefined> {
  return access ?? (await findGrant(cookie, asked));
}
