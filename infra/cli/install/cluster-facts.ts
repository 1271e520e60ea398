/**
 * What an installation has to know of a cluster.
 * Owns: reading it. Does not own: what follows (plan.ts).
 */
import * as z from "zod/mini";
import { parseAnswer, readItems } from "../../../shared/cluster/read.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";

export interface ClusterFacts {
  /** Of Kubernetes: 36 for 1.36. */
  readonly minor: number;
  readonly kubevirtNamespace: string;
}

const OLDEST = 33;
const KubeVirt = z.object({ metadata: z.object({ namespace: z.string() }) });

export async function readClusterFacts(connection: Connection): Promise<ClusterFacts> {
  const { kubernetes: minor } = await connection.cluster().getMinorVersions();
  if (minor === undefined) throw new Failed("the API server does not say which version of Kubernetes it is");
  if (minor < OLDEST) throw new Failed(`Kubernetes 1.${minor} is older than 1.${OLDEST}, the oldest supported`);
  const [kubevirt] = await readItems(connection.send(), "kubevirts");
  if (kubevirt === undefined) throw new Failed("there is no KubeVirt object in this cluster: install KubeVirt first");
  return { minor, kubevirtNamespace: parseAnswer(KubeVirt, kubevirt, "GET kubevirts").metadata.namespace };
}
