/** What an installation has to know of a cluster. */
import * as z from "zod/mini";
import { listOf, part } from "../../../shared/cluster/kinds/fields.ts";
import { parseAnswer, readItems } from "../../../shared/cluster/read.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import type { Applier } from "./apply.ts";
import { type Manifest, manifestsIn } from "./manifests.ts";
import { inNamespace, MARKING, usualMarking } from "./plan.ts";
import { enablingPlugins } from "../plugins-gate.ts";

export interface ClusterFacts {
  /** Of Kubernetes: 36 for 1.36. */
  readonly minor: number;
  readonly kubevirtNamespace: string;
  /** The command that switches KubeVirt's feature gate Plugins on; undefined: it is. */
  readonly enablingPlugins: string | undefined;
}

const OLDEST = 33;
const KubeVirt = z.object({
  metadata: z.object({ namespace: z.string(), name: z.string() }),
  spec: part({
    configuration: part({ developerConfiguration: part({ featureGates: listOf(z.string()) }) }),
  }),
});

export async function readClusterFacts(connection: Connection): Promise<ClusterFacts> {
  const { kubernetes: minor } = await connection.cluster().getMinorVersions();
  if (minor === undefined) throw new Failed("the API server does not say which version of Kubernetes it is");
  if (minor < OLDEST) throw new Failed(`Kubernetes 1.${minor} is older than 1.${OLDEST}, the oldest supported`);
  const [kubevirt] = await readItems(connection.send(), "kubevirts");
  if (kubevirt === undefined) throw new Failed("there is no KubeVirt object in this cluster: install KubeVirt first");
  const { metadata, spec } = parseAnswer(KubeVirt, kubevirt, "GET kubevirts");
  const { featureGates } = spec.configuration.developerConfiguration;
  return {
    minor,
    kubevirtNamespace: metadata.namespace,
    enablingPlugins: enablingPlugins({ ...metadata, featureGates }),
  };
}

/** An installation keeps the ways to mark that it has: one that an administrator took away, or replaced, does not come back. */
export async function findMarking(applier: Applier, facts: ClusterFacts): Promise<readonly string[]> {
  const isThere = async (manifests: readonly Manifest[]) => {
    for (const one of manifests) if ((await applier.read(one)) === undefined) return false;
    return true;
  };
  // The last object of an installation: one that was interrupted before it goes on as if it were new.
  const isInstalled = await isThere(["kubernetes/rbac.yaml", "kubernetes/webhook.yaml"].flatMap(manifestsIn));
  if (!isInstalled) return usualMarking(facts.minor);
  const found: string[] = [];
  for (const file of MARKING) {
    const bindings = manifestsIn(file).filter(({ kind }) => kind.endsWith("Binding"));
    if (await isThere(bindings.map((one) => inNamespace(one, facts.kubevirtNamespace)))) found.push(file);
  }
  return found;
}
