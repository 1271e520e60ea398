/**
 * virt-api's webhook for evictions, in the cluster or not: KubeVirt's administrator decides with its version.
 * Owns: taking its registration out and putting it back. Does not own: its answers (sandbox/kubevirt).
 */
import type { KubeClient } from "../sandbox/actors/client.ts";
import type { KubeObject, Resource } from "../sandbox/actors/resources.ts";

interface Configuration extends KubeObject {
  webhooks: readonly { readonly name: string; readonly rules: readonly object[] }[];
}

const configurations: Resource<Configuration> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

const VIRT_API = { name: "virt-api-validator" };
const INTERCEPTOR = /eviction-interceptor/;
/** Rules that nothing matches. */
const NOTHING = [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["nothing"] }];
const EVICTIONS = [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods/eviction"] }];

export async function switchEvictionWebhook(client: KubeClient, on: boolean): Promise<void> {
  const configuration = await client.get(configurations, VIRT_API);
  if (configuration === undefined) throw new Error("virt-api has registered no webhooks");
  const webhooks = configuration.webhooks.map((webhook) =>
    INTERCEPTOR.test(webhook.name) ? { ...webhook, rules: on ? EVICTIONS : NOTHING } : webhook,
  );
  await client.patch(configurations, VIRT_API, { type: "merge", body: { webhooks } });
}
