/**
 * What the configuration page shows: settings, what is wrong with them, the webhooks, the token's end.
 * Owns: which requests that takes. Does not own: comparing and judging (functions/webhooks.ts, shared/policy), what is shown.
 */
import type { KubeVirtFacts } from "../../shared/cluster/kinds/kubevirt.ts";
import type { ConfigurationFacts } from "../../shared/cluster/kinds/lifeboat.ts";
import type { LoadedSettings } from "../../shared/config/load-settings.ts";
import { type CredentialVerdict, judgeCredential } from "../../shared/policy/credential.ts";
import { notesOnVersions } from "../../shared/policy/versions.ts";
import type { Compared } from "../../shared/policy/webhooks/story.ts";
import { credentialOf } from "../credentials.ts";
import type { Target } from "../target.ts";
import { lookAtWebhooks } from "../webhooks.ts";

export interface ConfigurationView {
  /** Undefined: there is none in the cluster, and the defaults count. */
  readonly configuration: ConfigurationFacts | undefined;
  readonly kubevirt: KubeVirtFacts | undefined;
  readonly loaded: Pick<LoadedSettings, "settings" | "problems" | "notes">;
  readonly credential: CredentialVerdict;
  readonly webhooks: readonly Compared[];
}

const READ_SECONDS = 10;

export async function readConfigurationView(target: Target): Promise<ConfigurationView> {
  const cluster = target.connect(READ_SECONDS);
  const [configuration, kubevirt, loaded, credential, versions] = await Promise.all([
    cluster.getConfiguration(),
    cluster.getKubeVirt(),
    target.settings(cluster),
    credentialOf(target, cluster),
    cluster.getMinorVersions(),
  ]);
  const { settings, problems, notes } = loaded;
  return {
    configuration,
    kubevirt,
    loaded: { settings, problems, notes: [...notes, ...notesOnVersions(versions)] },
    credential: judgeCredential(credential, target.platform.now()),
    webhooks: await lookAtWebhooks(target, cluster, settings),
  };
}
