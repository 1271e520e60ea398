/** Webhooks of ValidatingWebhookConfigurations, as they are installed. */

export interface InstalledWebhook {
  readonly name: string;
  /** As the API server calls it, a Service too. Holds the webhook token: never to be logged. */
  readonly url: string | undefined;
  readonly isService: boolean;
  readonly rules: readonly WebhookRule[];
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  /** `namespaceSelector` and `objectSelector`, where they leave anything out. */
  readonly selectors: readonly string[];
  readonly failurePolicy: string;
  readonly matchPolicy: string;
  readonly timeoutSeconds: number;
  readonly admissionReviewVersions: readonly string[];
}

export interface WebhookRule {
  readonly operations: readonly string[];
  readonly resources: readonly string[];
}

export interface InstalledWebhooks {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly webhooks: readonly InstalledWebhook[];
}
