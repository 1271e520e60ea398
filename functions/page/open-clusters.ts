/**
 * The clusters that a visitor may look at.
 * Owns: finding them from the cookie. Does not own: what a grant is (session.ts), signing in.
 */
import { RejectionError } from "../rejection.ts";
import { findEntry, type Surroundings, targetOf } from "../target.ts";
import { clustersIn, findGrant } from "./session.ts";
import type { Visit } from "./visit.ts";

/** Of a visitor with more, the rest is left out, which the page says. */
export const MOST_CLUSTERS = 40;

export interface OpenClusters {
  readonly visits: readonly Visit[];
  /** Named in the cookie, which opens them no more. */
  readonly closed: readonly string[];
  /** So many more are in the cookie. */
  readonly more: number;
}

/** Throws Unauthorized where there is none. */
export async function openClusters(cookie: string | undefined, surroundings: Surroundings): Promise<OpenClusters> {
  const names = [...new Set(clustersIn(cookie))].toSorted();
  const asked = names.slice(0, MOST_CLUSTERS);
  const found = await Promise.all(asked.map((name) => openCluster(name, cookie, surroundings)));
  const visits = found.filter((visit) => visit !== undefined);
  if (visits.length === 0) throw new RejectionError("Unauthorized");
  const open = new Set(visits.map(({ target }) => target.name));
  return { visits, closed: asked.filter((name) => !open.has(name)), more: names.length - asked.length };
}

/** Undefined: the grant is over or was never one, or the cluster is gone, or its entry is not valid any more. */
async function openCluster(
  cluster: string,
  cookie: string | undefined,
  surroundings: Surroundings,
): Promise<Visit | undefined> {
  try {
    const entry = await findEntry(cluster, surroundings);
    const visitor = await findGrant(cookie, { cluster, entry, now: surroundings.platform.now() });
    return visitor && { target: targetOf(cluster, entry, surroundings), visitor };
  } catch (error) {
    if (!(error instanceof RejectionError)) throw error;
    return undefined;
  }
}
