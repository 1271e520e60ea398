/** Webhook configurations, with the fields that tools read. */
import type { KubeObject, Resource } from "../../sandbox/index.ts";

interface Configuration extends KubeObject {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly rules: readonly { readonly resources: readonly string[] }[];
    readonly clientConfig: { readonly caBundle?: string; readonly service?: { readonly path?: string } };
  }[];
}

export const webhookConfigurations: Resource<Configuration> = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  plural: "validatingwebhookconfigurations",
  namespaced: false,
};

export const mutatingConfigurations: Resource<Configuration> = {
  ...webhookConfigurations,
  kind: "MutatingWebhookConfiguration",
  plural: "mutatingwebhookconfigurations",
};
