/**
 * Who visits, and whether that opens a cluster.
 * Owns: Access first, then the cookie. Does not own: either of them (access.ts, session.ts), finding clusters (open-clusters.ts).
 */
import type { ClusterEntry } from "../../shared/config/clusters.ts";
import { findGrant } from "./session.ts";
import type { Visitor } from "./visit.ts";

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

export async function visitorTo({ cookie, access }: Presented, asked: Asked): Promise<Visitor | undefined> {
  return access ?? (await findGrant(cookie, asked));
}
