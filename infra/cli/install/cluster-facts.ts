/** What an installation has to know of a cluster. */
import * as z from "zod/mini";
import { listOf, part } from "../../../shared/cluster/kinds/fields.ts";
import { parseAnswer, readItems } from "../../../shared/cluster/read.ts";
import type { Connection } from "../connection.ts";
import { Failed } from "../failed.ts";
import { PLUGINS_GATE } from "../../../shared/policy/names.ts";

export interface ClusterFacts {
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
  const { namespace, name } = metadata;
  const developerConfiguration = { featureGates: [...featureGates, PLUGINS_GATE] };
  const body = JSON.stringify({ spec: { configuration: { developerConfiguration } } });
  return {
    kubevirtNamespace: namespace,
    enablingPlugins: featureGates.includes(PLUGINS_GATE)
      ? undefined
      : `kubectl -n ${namespace} patch kubevirt ${name} --type merge -p '${body}'`,
  };
}
